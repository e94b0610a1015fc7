#!/usr/bin/env python3
"""A run's values in Weights & Biases' offline files, read by wandb's own DataStore and protocol buffers: equal as float64.

  read_wandb.py --quench build/release/bin/quench --run FOLDER [--client PROGRAM]

Run it with the python of an environment with `pip install "wandb==0.21.4"` (later versions have no DataStore in Python). The
values read are compared with those of `quench results --json`, the names of the wandb runs with the folders that
`quench export --to tensorboard` writes, each summary with the last values of its history, and a second export with the first.
With --client, the `wandb` of any version, `wandb sync` sends the files to a server on this machine that takes everything; what
it was sent is compared with the values.
"""
import argparse, glob, gzip, http.server, json, os, subprocess, sys, tempfile, threading

import wandb
from wandb.proto import wandb_internal_pb2 as pb
from wandb.sdk.internal.datastore import DataStore
from wandb.sdk.lib.proto_util import dict_from_proto_list

wandb._set_internal_process(disable=True)


def records(path):
    store = DataStore()
    store.open_for_scan(path)
    while (data := store.scan_data()) is not None:
        record = pb.Record()
        record.ParseFromString(data)
        yield record


def read(path):
    """The run's name, its values [(step, tag, value)], and whether summary and end are as they should be."""
    name, values, last, summary, kinds = None, [], {}, None, []
    for record in records(path):
        kinds.append(record.WhichOneof("record_type"))
        if kinds[-1] == "run":
            name = record.run.display_name
            assert record.run.run_id in os.path.basename(path), "the file's name has another id"
        elif kinds[-1] == "history":
            row = dict_from_proto_list(record.history.item)
            assert row["_step"] == record.history.step.num, "two steps in one row"
            last["_step"] = row["_step"]
            for tag, value in row.items():
                if not tag.startswith("_"):
                    values.append((row["_step"], tag, value))
                    last[tag] = value
        elif kinds[-1] == "summary":
            summary = dict_from_proto_list(record.summary.update)
    whole = summary == last and kinds[:2] == ["header", "run"] and kinds[-3:] == ["summary", "exit", "final"]
    return name, values, whole


# What the client wants to hear, by a word of its question.
REPLIES = {"__schema": {"QueryType": {"fields": []}, "MutationType": {"fields": []}, "ServerInfoType": {"fields": []}},
           "upsertBucket": {"upsertBucket": {"inserted": True, "bucket": {
               "id": "1", "config": "{}", "historyLineCount": 0, "project": {"id": "1", "entity": {"id": "1", "name": "me"}}}}},
           "createRunFiles": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}},
           "iewer": {"viewer": {"id": "1", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}},
                     "serverInfo": {"features": []}}}


def sent(client, folders):
    """The values that `wandb sync` sends of these folders."""
    rows = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            reply = {}
            if self.path.endswith("file_stream"):
                history = json.loads(body).get("files", {}).get("wandb-history.jsonl", {"content": []})
                rows.extend(json.loads(line) for line in history["content"])
            elif self.path.endswith("graphql"):
                asked = json.loads(body)
                reply = json.loads(json.dumps(next((r for word, r in REPLIES.items() if word in asked["query"]), {})))
                if "upsertBucket" in reply:
                    bucket = reply["upsertBucket"]["bucket"]
                    bucket["name"] = asked["variables"]["name"]
                    bucket["project"]["name"] = asked["variables"]["project"]
                reply = {"data": reply}
            text = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PUT = do_POST

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}", "WANDB_API_KEY": "0" * 40,
                    "WANDB_ERROR_REPORTING": "false"}
    subprocess.run([os.path.abspath(client), "sync", *folders], check=True, env=environment, timeout=600,
                   cwd=os.path.dirname(folders[0]))  # it leaves a log where it runs
    server.shutdown()
    return sorted(float(value) for row in rows for tag, value in row.items() if not tag.startswith("_"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quench", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--client", help="the program wandb: `wandb sync` is checked too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder, events = os.path.join(work, "wandb"), os.path.join(work, "events")
        export = lambda to, where: subprocess.run([options.quench, "export", options.run, "--to", to, "-o", where], check=True)
        export("wandb", folder)
        paths = sorted(glob.glob(os.path.join(folder, "offline-run-*", "run-*.wandb")))
        first = {path: (os.stat(path).st_ino, open(path, "rb").read()) for path in paths}
        export("wandb", folder)
        again = {path: (os.stat(path).st_ino, open(path, "rb").read()) for path in paths}
        export("tensorboard", events)
        lines = {os.path.relpath(where, events) for where, _, files in os.walk(events) if files}
        runs = [read(path) for path in paths]
        arrived = sent(options.client, [os.path.dirname(path) for path in paths]) if options.client else None
    found = json.loads(subprocess.run([options.quench, "results", options.run, "--json"], check=True,
                                      capture_output=True).stdout)["records"]
    wanted = sorted(float(record["value"]) for record in found if isinstance(record["value"], (int, float)))
    seen = sorted(float(value) for _, values, _ in runs for _, _, value in values)
    verdicts = {"values": seen == wanted, "names": {name for name, _, _ in runs} == lines,
                "summaries and ends": all(whole for _, _, whole in runs), "second export": first == again}
    if arrived is not None:
        verdicts["values that the client sent"] = arrived == wanted
    told = ", ".join(f"{what} {'equal' if equal else 'DIFFERENT'}" for what, equal in verdicts.items())
    print(f"wandb {wandb.__version__}: {len(seen)} values of {len(runs)} runs read; {told}")
    sys.exit(0 if all(verdicts.values()) and seen else 1)


if __name__ == "__main__":
    main()
