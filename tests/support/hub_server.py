#!/usr/bin/env python3
"""A hub for tests: serves folders as repositories and does what hubs and lines do wrong.

usage: hub_server.py ROOT [--ready FILE] [--log FILE] [--large BYTES] [--token TOKEN] [--gated] [--page N] [--fault WHAT:PATTERN[:N[:TIMES]]]...

ROOT/models/ORG/NAME/REVISION/... are the files of a branch, ROOT/datasets/... those of data sets. The server listens on two ports
of 127.0.0.1, prints "ENDPOINT CDN" (two URLs), into the file --ready too, and serves until it is killed. It is written from the
published documentation of huggingface.co, and knows of it:

  GET /api/models/ORG/NAME/refs                {"branches": [{"name", "ref", "targetCommit"}], "tags": [], "converts": []}
  GET /api/models/ORG/NAME/revision/REV        {"id", "sha", "siblings": [{"rfilename"}]}; REV percent-encoded: a branch or a commit
  GET /api/models/ORG/NAME/tree/REV?recursive=true   [{"type": "file"|"directory", "oid", "size", "path", "lfs": {"oid", "size",
                                               "pointerSize"}}]; of N entries a page, with `Link: <URL>; rel="next"` (--page)
  HEAD, GET /ORG/NAME/resolve/REV/PATH         the file, with `Range: bytes=N-`. Headers: X-Repo-Commit, ETag. A large file (of
                                               at least --large bytes, default 1000) is 302 to the CDN's port, with X-Linked-Etag
                                               (SHA-256) and X-Linked-Size; a small one comes at once with its git blob id as ETag.
  /api/datasets/..., /datasets/ORG/NAME/resolve/...   the same for data sets
  GET /sent                                    of this server alone: the bytes that all bodies had so far

Errors have X-Error-Code (RepoNotFound, RevisionNotFound, EntryNotFound, GatedRepo) and X-Error-Message. With --token, requests
without it get 401 RepoNotFound; with --gated, files are 401 without and 403 with any other token. The CDN answers 400 to a
request with an Authorization header: the token must not follow a redirect to another host.

A fault applies to requests whose path matches the regular expression PATTERN, the first TIMES times (default: always).
  cut       the line is cut after N bytes of the body, which Content-Length says is whole
  short     N bytes fewer than the file has, and Content-Length says so too
  long      N bytes more
  flip      byte N is inverted
  change    other bytes from byte N on, as of a file that was replaced
  status    answers N, with "Retry-After: 1" for 429
  stall     N bytes, then nothing for a minute
  slow      N bytes every hundredth of a second
  drip      N bytes a second
  norange   a Range is ignored: 200, from the start
  badrange  206, but not from where it was asked
  away      redirects to the CDN, also for a small file, and calls it localhost
  scheme    redirects to file:///etc/passwd
  loop      redirects to itself
  pages     the API answers a page without entries that names a next one
  garbage   the API answers N bytes that are no JSON
  commit    X-Repo-Commit of another commit
  echo      answers 400 with the Authorization header as X-Error-Message

The log has a line of JSON for each request: {"host": "hub"|"cdn", "method", "path", "status", "authorization", "range"}, written
before the answer is sent.
"""
import argparse
import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit


class Fault:
    def __init__(self, text):
        parts = text.split(":")
        self.what, self.pattern = parts[0], re.compile(parts[1])
        self.number = int(parts[2]) if len(parts) > 2 and parts[2] else 0
        self.left = int(parts[3]) if len(parts) > 3 else None


class Repositories:
    """The files below ROOT, with their hashes."""

    def __init__(self, root, large):
        self.root, self.large, self.hashes = Path(root), large, {}

    def folder(self, kind, name):
        return self.root / kind / name

    def branches(self, kind, name):
        folder = self.folder(kind, name)
        return {b.name: self.commit(b) for b in sorted(folder.iterdir()) if b.is_dir()} if folder.is_dir() else None

    def branch(self, kind, name, revision):
        """(folder, commit) of a branch or a commit."""
        for branch, commit in (self.branches(kind, name) or {}).items():
            if revision in (branch, commit):
                return self.folder(kind, name) / branch, commit
        return None, None

    def files(self, branch):
        return sorted(p for p in branch.rglob("*") if p.is_file())

    def commit(self, branch):
        text = "".join(f"{p.relative_to(branch)} {self.hash(p)[1]}\n" for p in self.files(branch))
        return hashlib.sha1((branch.name + text).encode()).hexdigest()

    def hash(self, path):
        """(size, git id, SHA-256 or None)"""
        stamp = (path, path.stat().st_mtime_ns, path.stat().st_size)
        if stamp not in self.hashes:
            content = path.read_bytes()
            git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            large = hashlib.sha256(content).hexdigest() if len(content) >= self.large else None
            self.hashes[stamp] = (len(content), git, large)
        return self.hashes[stamp]


class Refused(Exception):
    def __init__(self, status, code, message):
        self.status, self.code, self.message = status, code, message


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def place(self):
        return self.server.place

    def fault(self, *kinds):
        for fault in self.place.faults:
            if fault.what in kinds and fault.pattern.search(self.path):
                with self.place.lock:
                    if fault.left == 0:
                        continue
                    if fault.left is not None:
                        fault.left -= 1
                return fault
        return None

    def answer(self, status, headers=(), body=b"", announced=None):
        self.place.note({"host": self.server.name, "method": self.command, "path": self.path, "status": status,
                         "authorization": self.headers.get("Authorization"), "range": self.headers.get("Range")})
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        if self.command != "HEAD":
            self.send(body)

    def send(self, body):
        self.wfile.write(body)
        self.wfile.flush()
        with self.place.lock:
            self.place.sent += len(body)

    def refuse(self, status, code, message, more=()):
        self.answer(status, [("X-Error-Code", code), ("X-Error-Message", message), *more], b'{"error": "refused"}')

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        try:
            self.work()
        except Refused as error:
            self.refuse(error.status, error.code, error.message)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def work(self):
        if fault := self.fault("status"):
            return self.refuse(fault.number, "", "told to", [("Retry-After", "1")] if fault.number == 429 else [])
        if self.fault("echo"):
            return self.refuse(400, "", "got " + str(self.headers.get("Authorization")))
        if self.fault("loop"):
            return self.answer(302, [("Location", self.path)])
        if self.fault("scheme"):
            return self.answer(302, [("Location", "file:///etc/passwd")])
        path = unquote(urlsplit(self.path).path)
        if path == "/sent":
            return self.document(self.place.sent)
        if self.server.name == "cdn":
            if self.headers.get("Authorization"):
                return self.refuse(400, "", "a token came here")
            return self.send_file(self.place.repositories.root / path.lstrip("/"), [])
        if match := re.fullmatch(r"/api/(models|datasets)/(.+?)/(refs|revision|tree)(?:/(.+))?", path):
            return self.api(*match.groups())
        if match := re.fullmatch(r"/(datasets/)?([^/]+(?:/[^/]+)?)/resolve/([^/]+)/(.+)", path):
            return self.resolve(match[1], match[2], match[3], match[4])
        raise Refused(404, "", "no such page")

    def check_token(self, gated):
        wanted, got = self.place.token, self.headers.get("Authorization")
        if wanted is None or got == "Bearer " + wanted:
            return
        if not self.place.gated:
            raise Refused(401, "RepoNotFound", "Repository not found")
        if gated:
            raise Refused(403 if got else 401, "GatedRepo", "Access to this model is restricted")

    def branch(self, kind, name, revision):
        folder, commit = self.place.repositories.branch(kind, name, revision)
        if self.place.repositories.branches(kind, name) is None:
            raise Refused(401 if not self.headers.get("Authorization") else 404, "RepoNotFound", "Repository not found")
        if folder is None:
            raise Refused(404, "RevisionNotFound", "Invalid rev id: " + revision)
        return folder, commit

    def api(self, kind, name, what, revision):
        self.check_token(False)
        if fault := self.fault("garbage"):
            return self.answer(200, [], b"[" * fault.number)
        if self.fault("pages"):
            return self.document([], [("Link", f'<{self.place.endpoint}{self.path}>; rel="next"')])
        repositories = self.place.repositories
        if what == "refs":
            self.branch(kind, name, next(iter(repositories.branches(kind, name) or {}), ""))
            found = [{"name": b, "ref": "refs/heads/" + b, "targetCommit": c}
                     for b, c in repositories.branches(kind, name).items()]
            return self.document({"branches": found, "tags": [], "converts": []})
        folder, commit = self.branch(kind, name, revision)
        paths = [p.relative_to(folder).as_posix() for p in repositories.files(folder)]
        if what == "revision":
            return self.document({"id": name, "sha": commit, "siblings": [{"rfilename": p} for p in paths]})
        entries = []
        for path in paths:
            size, git, large = repositories.hash(folder / path)
            entry = {"type": "file", "oid": git, "size": size, "path": path}
            if large:
                entry["lfs"] = {"oid": large, "size": size, "pointerSize": 134}
            entries.append(entry)
        entries += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": d.relative_to(folder).as_posix()}
                    for d in folder.rglob("*") if d.is_dir()]
        start = int(parse_qs(urlsplit(self.path).query).get("cursor", ["0"])[0])
        page, headers = entries[start:start + self.place.page], []
        if start + self.place.page < len(entries):
            url = f"{self.place.endpoint}{urlsplit(self.path).path}?recursive=true&cursor={start + self.place.page}"
            headers = [("Link", f'<{url}>; rel="next"')]
        return self.document(page, headers)

    def document(self, value, headers=()):
        body = json.dumps(value).encode()
        if fault := self.fault("drip"):
            return self.drip(body, [("Content-Type", "application/json"), *headers], fault)
        fault = self.fault("cut")
        self.answer(200, [("Content-Type", "application/json"), *headers], body[:fault.number] if fault else body, len(body))
        self.close_connection = fault is not None

    def drip(self, body, headers, fault):
        self.answer(200, headers, b"", announced=len(body))
        for at in range(0, len(body), fault.number):
            self.send(body[at:at + fault.number])
            time.sleep(1)

    def resolve(self, datasets, name, revision, path):
        self.check_token(True)
        folder, commit = self.branch("datasets" if datasets else "models", name, revision)
        file = folder / path
        if not file.is_file():
            raise Refused(404, "EntryNotFound", "Entry not found")
        size, git, large = self.place.repositories.hash(file)
        headers = [("X-Repo-Commit", "f" * 40 if self.fault("commit") else commit), ("ETag", f'"{large or git}"')]
        away = self.fault("away")
        if large or away:
            host = f"{'localhost' if away else '127.0.0.1'}:{self.place.cdn.server_port}"
            where = quote(file.relative_to(self.place.repositories.root).as_posix())
            return self.answer(302, [*headers, ("X-Linked-Etag", f'"{large or git}"'), ("X-Linked-Size", str(size)),
                                     ("Location", f"http://{host}/{where}?Signature=secret")])
        return self.send_file(file, headers)

    def send_file(self, file, headers):
        if not file.is_file():
            raise Refused(404, "EntryNotFound", "Entry not found")
        content = file.read_bytes()
        if fault := self.fault("flip"):
            content = content[:fault.number] + bytes([content[fault.number] ^ 255]) + content[fault.number + 1:]
        if fault := self.fault("change"):
            content = content[:fault.number] + bytes(b ^ 85 for b in content[fault.number:])
        if fault := self.fault("short"):
            content = content[:-fault.number]
        if fault := self.fault("long"):
            content += b"x" * fault.number
        size, start, status = len(content), 0, 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if match and not self.fault("norange"):
            start, status = int(match[1]), 206
            if start >= size:
                return self.refuse(416, "", "no such range", [("Content-Range", f"bytes */{size}")])
            said = start + 1 if self.fault("badrange") else start
            headers = [*headers, ("Content-Range", f"bytes {said}-{size - 1}/{size}")]
        body = content[start:]
        fault = self.fault("cut", "stall", "slow", "drip") if self.command == "GET" else None
        if fault is None:
            return self.answer(status, headers, body)
        self.answer(status, headers, body[:0], announced=len(body))
        if fault.what in ("slow", "drip"):
            for at in range(0, len(body), fault.number):
                self.send(body[at:at + fault.number])
                time.sleep(0.01 if fault.what == "slow" else 1)
            return None
        self.send(body[:fault.number])
        if fault.what == "stall":
            time.sleep(60)
        self.close_connection = True
        return None


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, name, place):
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.place = name, place

    def handle_error(self, *_):
        pass  # a client that was killed


class Place:
    """What both servers share."""

    def __init__(self, options):
        self.repositories = Repositories(options.root, options.large)
        self.faults = [Fault(text) for text in options.fault]
        self.token, self.gated, self.page = options.token, options.gated, options.page
        self.lock, self.sent = threading.Lock(), 0
        self.log = open(options.log, "a") if options.log else None
        self.hub, self.cdn = Server("hub", self), Server("cdn", self)
        self.endpoint = f"http://127.0.0.1:{self.hub.server_port}"

    def note(self, line):
        with self.lock:
            if self.log:
                self.log.write(json.dumps(line) + "\n")
                self.log.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--ready")
    parser.add_argument("--log")
    parser.add_argument("--large", type=int, default=1000)
    parser.add_argument("--token")
    parser.add_argument("--gated", action="store_true")
    parser.add_argument("--page", type=int, default=1000)
    parser.add_argument("--fault", action="append", default=[])
    options = parser.parse_args()
    place = Place(options)
    for server in (place.hub, place.cdn):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    urls = f"{place.endpoint} http://127.0.0.1:{place.cdn.server_port}"
    print(urls, flush=True)
    if options.ready:
        Path(options.ready + ".new").write_text(urls)
        Path(options.ready + ".new").rename(options.ready)
    threading.Event().wait()


if __name__ == "__main__":
    main()
