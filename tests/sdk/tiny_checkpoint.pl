#!/usr/bin/perl
# tiny_checkpoint.pl FOLDER MODEL_TYPE: a checkpoint of sdk/template/model with drawn weights, and a byte tokenizer.
use strict;
use warnings;
my ($folder, $type) = @ARGV;
my ($vocabulary, $width, $blocks) = (256, 32, 2);
mkdir $folder or die "$folder: $!";

sub write_file {
    my ($name, $content) = @_;
    open(my $out, '>:raw', "$folder/$name") or die "$name: $!";
    print $out $content;
    close($out) or die "$name: $!";
}

write_file('config.json', qq({"model_type": "$type", "vocab_size": $vocabulary, "hidden_size": $width, )
        . qq("num_hidden_layers": $blocks}\n));

my @tensors = (['embed.weight', $vocabulary, $width], ['head.weight', $vocabulary, $width]);
push @tensors, ["blocks.$_.mix.weight", $width, $width] for 0 .. $blocks - 1;
my ($state, $data, @entries) = (1, '');
for my $tensor (@tensors) {
    my ($name, $rows, $columns) = @$tensor;
    my $begin = length $data;
    for (1 .. $rows * $columns) {
        $state = ($state * 1103515245 + 12345) % 2147483648;
        $data .= pack('f<', $state / 2147483648 - 0.5);
    }
    push @entries, qq("$name": {"dtype": "F32", "shape": [$rows, $columns], "data_offsets": [$begin, ) . length($data) . ']}';
}
my $header = '{' . join(', ', @entries) . '}';
$header .= ' ' x ((8 - length($header) % 8) % 8);
write_file('model.safetensors', pack('Q<', length $header) . $header . $data);

# Byte-level BPE without merges; a byte is written as itself where it is printable, else from U+0100 on.
my ($next, @vocabulary) = (0x100);
for my $byte (0 .. 255) {
    my $printable = ($byte >= 0x21 && $byte <= 0x7E) || ($byte >= 0xA1 && $byte <= 0xFF && $byte != 0xAD);
    push @vocabulary, sprintf('"\\u%04x": %d', $printable ? $byte : $next++, $byte);
}
my $byte_level = '{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}';
write_file('tokenizer.json', qq({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], )
        . qq("normalizer": null, "pre_tokenizer": $byte_level, "post_processor": null, "decoder": $byte_level, )
        . '"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null, '
        . '"end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false, '
        . '"vocab": {' . join(', ', @vocabulary) . '}, "merges": []}}' . "\n");
