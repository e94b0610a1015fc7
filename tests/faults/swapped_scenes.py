"""Small runs for swapped_inputs.py: their files, and of each input another content that gives other values.

Together their inputs are of all kinds that a value depends on. A scene makes its files in a folder; `others` are the inputs with
the other contents.
"""
import glob
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import time
import zipfile

RACY = 2.5  # seconds after which the program believes a file's times
PYTHON = "/usr/bin/python3"  # of plugins; the runs find no Python of their own, so that none draws a page

# Parts of manifests.
EXPORTS = """\
quantizers:
  - template_quantizer: {bits: 4, group_size: 16}
    label: q
    export: gptq
"""
LOSS = """\
metrics:
  - validation_loss: {corpus: v, block: 16}
corpora: {v: {text: {path: v.txt}}}
"""


def lines(factor):
    return "".join("row %d\n" % (i * factor % 1000) for i in range(40)).encode()


def flipped(content, at):
    """One bit of the lowest byte of the float at this distance from the end: a small change of the value."""
    out = bytearray(content)
    out[len(out) - at] ^= 0x40
    return bytes(out)


def replaced(content, *pairs):
    for old, new in pairs:
        assert old in content and len(old) == len(new), old
        content = content.replace(old, new)
    return content


def two_ids_change_places(tokenizer):
    return replaced(tokenizer, (b'"\\u0030": 48', b'"\\u0030": 49'), (b'"\\u0031": 49', b'"\\u0031": 48'))


class Scene:
    """A folder with the manifest m.yaml, a home, and the program's runs in it."""

    MANIFEST = ""
    WAYS = ("rots", "stays", "returns")
    KEPT = ()  # folders of the home that are inputs
    NEEDS = ()  # plugins that not every build has
    DAMAGES = False  # whether the other content is none that a run may measure

    def __init__(self, folder, sources, build):
        self.folder, self.sources, self.build = folder, sources, build
        os.makedirs(folder)
        self.make()
        self.write("m.yaml", self.MANIFEST.encode())
        self.know()
        self.others = self.other_contents()
        for name, content in self.others.items():
            assert content != self.read(name), name

    @classmethod
    def lack(cls, build):
        """What this build or machine has not, or ""."""
        return ", ".join(each for each in cls.NEEDS if not os.path.exists(os.path.join(build, "lib/quench", each + ".so")))

    def make(self):
        """The files of the run."""
        raise NotImplementedError

    def other_contents(self):
        """{input: its other content}"""
        raise NotImplementedError

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def take(self, name, source):
        """A copy of a file below tests/data."""
        with open(os.path.join(self.sources, "tests/data", source), "rb") as file:
            self.write(name, file.read())

    def make_checkpoint(self, name):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        subprocess.run(["perl", os.path.join(self.sources, "tests/sdk/tiny_checkpoint.pl"), self.path(name), "template_model"],
                       check=True)

    def make_two_checkpoints(self, folder):
        """step1 and step2, which differ in one bit."""
        for step in ("step1", "step2"):
            self.make_checkpoint(folder + "/" + step)
        second = folder + "/step2/model.safetensors"
        self.write(second, flipped(self.read(second), 64))

    def plugin_path(self):
        return os.path.join(self.build, "template")

    def quench(self, words, variables):
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "QUENCH_HOME": self.path("home"),
                       "QUENCH_PLUGIN_PATH": self.plugin_path(), "QUENCH_PYTHON": "/no/python3", **variables}
        if "QUENCH_ISA" in os.environ:
            environment["QUENCH_ISA"] = os.environ["QUENCH_ISA"]
        if "LD_PRELOAD" in environment:
            environment["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        return subprocess.run([os.path.join(self.build, "bin/quench"), *words], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=600)

    def verify(self, run):
        """What is wrong with a run's files: a line each, and a last one with the counts."""
        return self.quench(["verify", run, "--read-data"], {}).stdout

    def run(self, variables=None, out="runs/m", manifest="m.yaml", more=()):
        """The exit code, stderr and, of each value, {(key, metric, index): value}."""
        ran = self.quench(["run", manifest, "--out", out, "--threads", "1", "--json", *more], variables or {})
        values = {}
        data = json.loads(ran.stdout).get("data") if ran.stdout else None
        for record in (data or {}).get("records", []):
            if record["key"] and record["value"] is not None and not record["metric"].endswith("error"):
                values[(record["key"], record["metric"], record["index"])] = record["value"]
        return ran.returncode, ran.stderr, values

    def reset(self):
        """Forgets all runs, and keeps what is remembered of files and plugins."""
        shutil.rmtree(self.path("runs"), ignore_errors=True)
        for name in os.listdir(self.path("home")):
            if name not in self.KEPT:
                path = self.path("home", name)
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        shutil.copytree(self.path("known"), self.path("home"), dirs_exist_ok=True)

    def know(self):
        self.run()  # probes the plugins
        time.sleep(RACY)
        shutil.rmtree(self.path("home/records"), ignore_errors=True)
        shutil.rmtree(self.path("runs"), ignore_errors=True)
        code, err, self.right = self.run()
        if code != 0 or not self.right:
            sys.exit("the undisturbed run ended with %d: %s" % (code, err))
        self.keep()
        shutil.rmtree(self.path("known"), ignore_errors=True)
        for folder in ("records", "tokens", "partial", *(() if self.KEPT else ("training",))):
            shutil.rmtree(self.path("home", folder), ignore_errors=True)
        shutil.copytree(self.path("home"), self.path("known"), ignore=shutil.ignore_patterns(*self.KEPT))

    def keep(self):
        """What is needed of the undisturbed run."""

    def mixed(self):
        """Values of the run where some of its parts read an input before, and some after, it became the other."""
        return {}

    def left(self):
        """What a run has left for others that is not what its name says, or ""."""
        return ""

    def swap(self, name, content, at=None, how=""):
        """The variables of libquench_swapped.so for this input; `at`: none, and the opens are only counted."""
        if os.path.exists(self.path("count")):
            os.remove(self.path("count"))
        self.write("by", content)
        out = {"QUENCH_SWAP_FILE": self.path(name), "QUENCH_SWAP_LOG": self.path("count"),
               "LD_PRELOAD": os.path.join(self.build, "tests/libquench_swapped.so")}
        if at is not None:
            out.update({"QUENCH_SWAP_AT": str(at), "QUENCH_SWAP_BY": self.path("by"), "QUENCH_SWAP_HOW": how})
        return out

    def counted(self):
        return os.path.getsize(self.path("count")) if os.path.exists(self.path("count")) else 0


class Plain(Scene):
    """Folders of safetensors, config, tokenizer, texts of a metric and of a calibration, a task and its rows."""

    MANIFEST = """\
name: m
checkpoints: {model: models, revisions: "step{step}"}
calibration: {rows: {corpus: c, sequences: 2, length: 16}}
averaging:
  - soup: {}
quantizers:
  - template_quantizer: {bits: 4}
    calibration: rows
metrics:
  - validation_loss: {corpus: v, block: 16}
  - tasks: {tasks: [sums], files: sums.yaml, data: data, shots: 0}
corpora: {v: {text: {path: texts, split: line}}, c: {text: {path: c.txt}}}
"""
    TASK = b"""\
task: sums
version: 1
data: {paths: [sums]}
splits: [test]
prompt: "{{question}}"
choices: "{{choices}}"
answer: "{{answer}}"
scores: [acc]
"""

    @staticmethod
    def row(answer):
        return (json.dumps({"question": "1+1", "choices": ["1", "2"], "answer": answer}) + "\n").encode()

    def make(self):
        self.make_two_checkpoints("models")
        for name, content in (("texts/a.txt", lines(7919)), ("texts/b.txt", lines(104729)), ("c.txt", lines(31)),
                              ("sums.yaml", self.TASK), ("data/sums/test.jsonl", self.row(1))):
            self.write(name, content)

    def other_contents(self):
        texts = {name: replaced(self.read(name), (b"row 1", b"row 2"), (b"row 3", b"row 4"))
                 for name in ("texts/a.txt", "texts/b.txt", "c.txt")}
        weights = {name: flipped(self.read(name), 6000) for name in ("models/step1/model.safetensors", "models/step2/model.safetensors")}
        return {**weights, **texts,
                "models/step1/config.json": replaced(self.read("models/step1/config.json"),
                                                     (b'"hidden_size": 32, ', b'"hidden_size":  32,')),
                "models/step2/tokenizer.json": two_ids_change_places(self.read("models/step2/tokenizer.json")),
                "sums.yaml": self.TASK.replace(b'"{{question}}"', b'"so {{question}}"'),
                "data/sums/test.jsonl": self.row(0)}


def shards_of(content):
    """The tensors of a safetensors file as two files, and their index."""
    size, = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + size]), content[8 + size:]
    names, files, index = sorted(header), {}, {}
    for number, part in ((1, names[:2]), (2, names[2:])):
        name, out, body = "model-0000%d-of-00002.safetensors" % number, {}, b""
        for tensor in part:
            begin, end = header[tensor]["data_offsets"]
            out[tensor] = {**header[tensor], "data_offsets": [len(body), len(body) + end - begin]}
            body += data[begin:end]
            index[tensor] = name
        text = json.dumps(out).encode()
        text += b" " * (-len(text) % 8)
        files[name] = struct.pack("<Q", len(text)) + text + body
    files["model.safetensors.index.json"] = json.dumps({"metadata": {"total_size": len(data)}, "weight_map": index}).encode()
    return files


def other_archive(content, at):
    """What torch.save has written, with another value in its first storage: the checksums of the archive fit."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as other:
        for member in archive.infolist():
            body = archive.read(member)
            other.writestr(member, flipped(body, at) if member.filename.endswith("data/0") else body)
    assert len(out.getvalue()) == len(content)
    return out.getvalue()


class Formats(Scene):
    """Checkpoints in other forms: shards, pytorch_model.bin, a training loop's .pth, packed codes, GGUF."""

    NEEDS = ("models/llama", "formats/torch", "formats/gguf", "formats/gptq")

    MANIFEST = """\
name: m
checkpoints:
  model: models
  tokenizer: tokenizer.json
  branches:
    shards: {model: models/shards}
    bin: {model: models/bin}
    pth: {model: models/pth}
    gptq: {model: models/gptq}
    gguf: {model: models/llama.gguf}
""" + LOSS
    EXPORT = "name: e\ncheckpoints: {model: tiny}\n" + EXPORTS + LOSS

    def make(self):
        self.make_checkpoint("tiny")
        self.write("v.txt", lines(7919))
        self.write("tokenizer.json", self.read("tiny/tokenizer.json"))
        for name, content in shards_of(flipped(self.read("tiny/model.safetensors"), 64)).items():
            self.write("models/shards/" + name, content)
        self.write("models/shards/config.json", self.read("tiny/config.json"))
        self.take("models/bin/pytorch_model.bin", "training_checkpoint/step10.pth")
        self.write("models/pth/step20.pth", other_archive(self.read("models/bin/pytorch_model.bin"), 64))
        for folder in ("bin", "pth"):
            self.take("models/%s/config.json" % folder, "training_checkpoint/plain/config.json")
        self.take("models/llama.gguf", "gguf/llama.gguf")
        self.write("e.yaml", self.EXPORT.encode())
        code, err, _ = self.run(out="exported", manifest="e.yaml")
        if code != 0:
            sys.exit("nothing is exported: " + err)
        seal, = glob.glob(self.path("exported/exports/**/quench.json"), recursive=True)
        shutil.copytree(os.path.dirname(seal), self.path("models/gptq"), ignore=shutil.ignore_patterns("quench.json"))

    def other_contents(self):
        names = ["models/shards/model-0000%d-of-00002.safetensors" % number for number in (1, 2)]
        weights, = [os.path.relpath(path, self.folder) for path in glob.glob(self.path("models/gptq/*.safetensors"))]
        archives = ["models/bin/pytorch_model.bin", "models/pth/step20.pth"]
        return {**{name: flipped(self.read(name), 4000) for name in names + [weights, "models/llama.gguf"]},
                **{name: other_archive(self.read(name), 4000) for name in archives}}


class Corpora(Scene):
    """Rows of Arrow, Parquet and JSON lines, and ready-made ids."""

    NEEDS = ("corpora/arrow",)

    MANIFEST = """\
name: m
checkpoints: {model: tiny}
metrics:
  - validation_loss: {corpus: [a, p, j, t], block: 16}
corpora:
  a: {arrow: {path: saved, field: Problem}}
  p: {arrow: {path: test.parquet, field: Problem}}
  j: {jsonl: {path: rows.jsonl}}
  t: {tokens: {path: ids.safetensors}}
"""

    @staticmethod
    def ids(step):
        header = json.dumps({"ids": {"dtype": "I32", "shape": [2, 32], "data_offsets": [0, 256]}}).encode()
        header += b" " * (-len(header) % 8)
        return struct.pack("<Q", len(header)) + header + struct.pack("<64i", *(i * step % 256 for i in range(64)))

    def make(self):
        self.make_checkpoint("tiny")
        for name in ("data-00000-of-00001.arrow", "dataset_info.json", "state.json"):
            self.take("saved/" + name, "tasks/saved/math_qa/train/" + name)
        self.take("test.parquet", "tasks/typed/math_qa/test.parquet")
        self.write("rows.jsonl", b"".join(b'{"text": "%s"}\n' % line for line in lines(7919).split(b"\n")[:-1]))
        self.write("ids.safetensors", self.ids(7))

    def other_contents(self):
        arrow = "saved/data-00000-of-00001.arrow"
        return {arrow: replaced(self.read(arrow), (b"find the other", b"kind the other")),
                "test.parquet": replaced(self.read("test.parquet"), (b"shopkeeper sold", b"shopkeeper told")),
                "rows.jsonl": replaced(self.read("rows.jsonl"), (b"row 1", b"row 2")),
                "ids.safetensors": self.ids(9)}


class Plugins(Scene):
    """A library that did not come with quench, and one in Python with a helper.

    What the dynamic linker and Python open, nothing replaces: a file that rots for the program alone would be another one than theirs.
    """

    WAYS = ("stays", "returns")
    MANIFEST = """\
name: m
checkpoints: {model: tiny}
quantizers:
  - native_plugin: {bits: 4}
  - python_plugin: {bits: 4}
""" + LOSS
    CODE = """\
#!%s
import quench
import helper

@quench.quantizer(bits=4)
def python_plugin(weight, bits):
    \"\"\"Rounds every row.\"\"\"
    scale = abs(weight).max(1, keepdims=True) / (2 ** (bits - 1) - 1)
    return (weight / scale).round() * scale * helper.factor() * 1.0
""" % PYTHON
    HELPER = b"def factor():\n    return 1.5\n"

    @classmethod
    def lack(cls, build):
        numpy = subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False)
        return "numpy for " + PYTHON if numpy.returncode else "" if shutil.which("cc") else "cc"

    def plugin_path(self):
        return self.path("plugins") + ":" + super().plugin_path()

    def library(self, name, limit):
        """The SDK's plugin in C, whose scale is the largest weight by this expression."""
        with open(os.path.join(self.sources, "sdk/template/quantizer_c/template_quantizer_c.c"), encoding="utf-8") as file:
            code = file.read().replace("template_quantizer_c", "native_plugin")
        assert "largest / (zero - 1)" in code
        self.write(name + ".c", code.replace("largest / (zero - 1)", limit).encode())
        subprocess.run(["cc", "-std=c11", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-I", os.path.join(self.sources, "sdk/include"),
                        "-o", self.path(name), self.path(name + ".c"), "-lm"], check=True)
        return self.read(name)

    def make(self):
        self.make_checkpoint("tiny")
        self.write("v.txt", lines(7919))
        self.write("plugins/quantizers/native_plugin.so", self.library("mine.so", "largest / (zero - 1)"))
        os.chmod(self.path("plugins/quantizers/native_plugin.so"), 0o755)
        self.write("plugins/quantizers/python_plugin.py", self.CODE.encode())
        self.write("plugins/quantizers/helper.py", self.HELPER)

    def other_contents(self):
        return {"plugins/quantizers/native_plugin.so": self.library("other.so", "largest / (zero - 2)"),
                "plugins/quantizers/python_plugin.py": replaced(self.CODE.encode(), (b"* 1.0", b"* 0.9")),
                "plugins/quantizers/helper.py": replaced(self.HELPER, (b"1.5", b"1.6"))}


class Training(Scene):
    """A training: its config, tokenizer and text."""

    NEEDS = ("models/gpt_neox", "optimizers/sgd")
    MODEL = ('{"model_type": "gpt_neox", "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, '
             '"vocab_size": 256, "max_position_embeddings": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "rotary_pct": 0.25, '
             '"rotary_emb_base": 10000, "use_parallel_residual": true, "attention_bias": true, "tie_word_embeddings": false, '
             '"initializer_range": 0.02}')
    MANIFEST = """\
name: m
checkpoints: {model: train}
train: {model: config.json, corpus: text, tokenizer: tokenizer.json, optimizer: sgd, lr: {schedule: constant, peak: 0.01},
        batch: 4, length: 16, steps: 4, every: 2}
averaging:
  - soup: {}
metrics:
  - validation_loss: {corpus: v, block: 16}
corpora:
  text: {text: {path: t.txt, split: line}}
  v: {text: {path: v.txt}}
"""
    MEASURED = """\
name: m
checkpoints: {model: trained, revisions: "step{step}", tokenizer: tokenizer.json}
averaging:
  - soup: {}
""" + LOSS

    def make(self):
        self.made = {}  # folder in home/training: checkpoint
        self.make_checkpoint("tiny")
        self.write("tokenizer.json", self.read("tiny/tokenizer.json"))
        self.write("config.json", self.MODEL.encode())
        self.write("t.txt", lines(104729) * 8)
        self.write("v.txt", lines(7919))

    def keep(self):
        for step in ("step2", "step4"):
            folder = os.path.realpath(self.path("runs/m/checkpoints", step))
            shutil.copytree(folder, self.path("trained", step), dirs_exist_ok=True)
            self.made[os.path.basename(folder)] = step

    def left(self):
        for key, step in self.made.items():
            for name in ("model.safetensors", "config.json", "tokenizer.json"):
                file = os.path.join("home/training", key, name)
                if os.path.exists(self.path(file)) and self.read(file) != self.read(os.path.join("trained", step, name)):
                    return file + " is another one"
        return ""

    def mixed(self):
        """Weights of the training before it, measured with what is there now."""
        self.write("mixed.yaml", self.MEASURED.encode())
        code, err, values = self.run(out="runs/mixed", manifest="mixed.yaml")
        if code != 0:
            sys.exit("what was trained cannot be measured: " + err)
        return values

    def other_contents(self):
        return {"t.txt": replaced(self.read("t.txt"), (b"row 1", b"row 2")),
                "tokenizer.json": two_ids_change_places(self.read("tokenizer.json")),
                "config.json": replaced(self.read("config.json"), (b'"rotary_pct": 0.25', b'"rotary_pct": 0.50'))}


class Trained(Training):
    """What a training has left: a run reads it."""

    KEPT = ("training",)
    DAMAGES = True

    def left(self):
        return ""  # a file that stays damaged is the trial's own: the next run makes it again

    def other_contents(self):
        found = sorted(glob.glob(self.path("home/training/*/model.safetensors")))
        assert found
        return {os.path.relpath(path, self.folder): flipped(self.read(path), 64) for path in found}


SCENES = [Plain, Formats, Corpora, Plugins, Training, Trained]
