"""The app as a user starts it: a separate process, and a client that asks as its page does.

Set COFACTOR_APP_PYTHON to a Python that has the wheel installed to start that one, not the
checkout; `.ci/test_wheel.py` does so.
"""

import http.client
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import cofactor

INSTALLED = os.environ.get("COFACTOR_APP_PYTHON")


def start_app(table, *options):
    """Start the command on a table with a column body; the model is beside the table."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if not INSTALLED:
        own["PYTHONPATH"] = str(Path(cofactor.__file__).parents[1])
    return subprocess.Popen(
        [
            INSTALLED or sys.executable,
            "-m",
            "cofactor",
            "app",
            str(table),
            "--text",
            "body",
            "-k",
            "4",
            "--port",
            "0",
            "--no-open",
            "--model",
            str(table.parent / "model"),
            *options,
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=own,
        cwd=table.parent,
    )


class Client:
    """Reads and changes as the page does, on a new connection each time."""

    def __init__(self, process):
        said, found = "", None
        while found is None:
            line = process.stderr.readline()
            assert line, f"the app did not start: {said}"
            said += line
            found = re.search(r"//(\S+):(\d+)/\?token=(\S+)", line)
        self.host, port, self.token = found.groups()
        self.process, self.port = process, int(port)
        _, found, _ = self.send("GET", f"/?token={self.token}", {})
        self.headers = {
            "Cookie": found["set-cookie"].partition(";")[0],
            "Origin": f"http://{self.host}:{port}",
            "X-Cofactor": self.token,
            "Content-Type": "application/json",
        }

    def send(self, method, address, headers, body=None):
        """Return the status, the headers and the content of an answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, address, body, {**headers, "Connection": "close"})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def read(self, name, **query):
        """Return what the app says; a refusal is an error."""
        return self._content("GET", f"/api/{name}?{urlencode(query)}")

    def change(self, name, /, **content):
        """Change something, and return what the app says then."""
        return self._content("POST", f"/api/{name}", json.dumps(content))

    def _content(self, method, address, body=None):
        status, _, content = self.send(method, address, self.headers, body)
        assert status == 200, (address, body, content)
        return json.loads(content)
