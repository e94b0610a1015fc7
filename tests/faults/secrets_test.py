#!/usr/bin/env python3
"""Whole runs against a hub, with secrets in the environment and in addresses: none is in what they say or write.

usage: secrets_test.py SOURCES BUILD

The runs fetch a checkpoint with a token, of a hub that works, that sends the token back in its errors, or whose address holds a
password. A plugin that did not come with quench prints all of its environment, and says it in an error.
"""
import os
import subprocess
import sys
import tempfile
import time

from swapped_scenes import Scene, lines

TOKEN, PASSWORD, KEY = "hf_tokenThatNobodySees", "passwordThatNobodySees", "keyThatNobodySees"


class Fetched(Scene):
    MANIFEST = """\
name: m
checkpoints: {model: "hf://org/tiny", revisions: [main]}
quantizers:
  - talking_plugin: {bits: 4}
metrics:
  - validation_loss: {corpus: v, block: 16}
corpora: {v: {text: {path: v.txt}}}
"""

    def plugin_path(self):
        return self.path("plugins") + ":" + super().plugin_path()

    def make(self):
        self.make_checkpoint("hub/models/org/tiny/main")
        self.write("v.txt", lines(7919))
        with open(os.path.join(self.sources, "sdk/template/quantizer_c/template_quantizer_c.c"), encoding="utf-8") as file:
            code = file.read().replace("template_quantizer_c", "talking_plugin")
        begin = "  if (args->linear >= state->info->linear_count) {\n"
        assert begin in code
        code = code.replace("static const quench_host* host;", "static const quench_host* host;\nextern char** environ;")
        code = code.replace(begin, "  for (char** each = environ; *each != NULL; ++each) {\n    fprintf(stderr, \"I have %s\\n\", *each);\n  }\n"
                            "  if (getenv(\"HF_TOKEN\") != NULL) {\n    return fail(error, QUENCH_INTERNAL, \"%s\", getenv(\"HF_TOKEN\"));\n"
                            "  }\n" + begin)
        self.write("talking.c", code.encode())
        os.makedirs(self.path("plugins/quantizers"))
        subprocess.run(["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-I", os.path.join(self.sources, "sdk/include"), "-o",
                        self.path("plugins/quantizers/talking_plugin.so"), self.path("talking.c"), "-lm"], check=True)

    def know(self):
        os.makedirs(self.path("home"), mode=0o700)

    def other_contents(self):
        return {}

    def start_hub(self, faults):
        ready = self.path("ready")
        if os.path.exists(ready):
            os.remove(ready)
        hub = subprocess.Popen([sys.executable, os.path.join(self.sources, "tests/support/hub_server.py"), self.path("hub"), "--ready", ready,
                                "--token", TOKEN, *faults], stdout=subprocess.DEVNULL)
        while not os.path.exists(ready) or not self.read("ready"):
            time.sleep(0.02)
        return hub, self.read("ready").decode().split()[0]

    def fetch(self, name, endpoint):
        """Exit code and all that the run said, in both forms of its answer."""
        variables = {"HF_TOKEN": TOKEN, "HF_ENDPOINT": endpoint, "HF_HUB_CACHE": self.path("cache-" + name), "AWS_SECRET_ACCESS_KEY": KEY,
                     "WANDB_API_KEY": KEY}
        words = ["run", "m.yaml", "--out", "runs/" + name, "--fetch", "--verbose"]
        done = [self.quench(words, variables), self.quench(words[:-1] + ["--json"], variables)]
        return done[0].returncode, "".join(each.stdout + each.stderr for each in done)


def leaks(scene, said):
    """Where a secret is."""
    secrets = (TOKEN, PASSWORD, KEY)
    out = ["the output: " + line for line in said.splitlines() if any(secret in line for secret in secrets)]
    for folder, _, names in os.walk(scene.folder):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                content = file.read()
            out += [os.path.join(folder, name) for secret in secrets if secret.encode() in content]
    return out


def main():
    sources, build = map(os.path.abspath, sys.argv[1:3])
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        scene = Fetched(os.path.join(os.path.realpath(folder), "scene"), sources, build)
        for name, hub_faults, code, address in (("well", [], 0, "{}"), ("echo", ["--fault", "echo:safetensors"], 1, "{}"),
                                                ("echo_api", ["--fault", "echo:api"], None, "{}"),
                                                ("password", [], None, "http://me:%s@{}" % PASSWORD)):
            hub, endpoint = scene.start_hub(hub_faults)
            got, said = scene.fetch(name, address.format(endpoint if address == "{}" else endpoint.removeprefix("http://")))
            hub.kill()
            hub.wait()
            print("%s: exit code %d" % (name, got))
            if code is not None and got != code:
                faults.append("%s: exit code %d, wanted %d:\n%s" % (name, got, code, said))
            faults += ["%s: a secret is in %s" % (name, where) for where in leaks(scene, said)]
        logs = b"".join(scene.read(os.path.join("runs/well", name)) for name in os.listdir(scene.path("runs/well")) if name.startswith("log-"))
        if b"I have " not in logs:
            faults.append("the plugin said nothing of its environment:\n" + logs.decode())
    print("\n".join(faults) or "no secret is anywhere")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
