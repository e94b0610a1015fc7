"""A server that Weights & Biases' client talks to: it takes everything, and gives back the rows that it got."""

import gzip
import http.server
import json
import threading

# What the client wants to hear, by a word of its question.
REPLIES = {
    "__schema": {"QueryType": {"fields": []}, "MutationType": {"fields": []}, "ServerInfoType": {"fields": []}},
    "upsertBucket": {"upsertBucket": {"inserted": True, "bucket": {
        "id": "1", "config": "{}", "historyLineCount": 0,
        "project": {"id": "1", "entity": {"id": "1", "name": "me"}}}}},
    "createRunFiles": {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}},
    "iewer": {"viewer": {"id": "1", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}},
              "serverInfo": {"features": []}},
}


class FakeWandb:
    """As a context: `url`, and `rows`: (id of the run, row) in the order in which they came."""

    def __init__(self):
        self.rows = []
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = "http://127.0.0.1:%d" % self._server.server_port

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path, body):
        if path.endswith("file_stream"):
            history = body.get("files", {}).get("wandb-history.jsonl", {"content": []})
            run = path.split("/")[-2]
            self.rows += [(run, json.loads(line)) for line in history["content"]]
            return {}
        if not path.endswith("graphql"):
            return {}
        run = body.get("variables", {}).get("name")
        rows = [json.dumps(row) for name, row in self.rows if name == run]
        if "RunFullHistory" in body["query"]:
            return {"data": {"project": {"run": {"history": rows}}}}
        if "query Run(" in body["query"]:
            found = {"id": run, "name": run, "state": "finished", "config": "{}", "projectId": "1"} if rows else None
            return {"data": {"project": {"run": found}}}
        data = next((reply for word, reply in REPLIES.items() if word in body["query"]), {})
        data = json.loads(json.dumps(data))
        if "upsertBucket" in data:
            data["upsertBucket"]["bucket"]["name"] = body["variables"]["name"]
            data["upsertBucket"]["bucket"]["project"]["name"] = body["variables"]["project"]
        return {"data": data}

    def _handler(fake):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                text = json.dumps(fake._answer(self.path, json.loads(body) if body[:1] == b"{" else {})).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_PUT = do_POST

            def log_message(self, *_):
                pass

        return Handler
