"""What `tools/upstream_tutorials` changes in the processes of a tutorial, and in those it starts.

`tvm` means the package under test, requests for the web get local stand-ins, and figures are drawn
without a display.
"""

import importlib
import importlib.util
import io
import os
import sys


def _alias(package):
    """Make `import tvm` mean the package."""
    if package != "tvm":
        importlib.import_module(f"{package}.as_tvm")


class _Reply:
    """Answers urllib's requests with stand-ins: the part of an opener that urllib calls."""

    def open(self, request, data=None, timeout=None):
        import urllib.response

        import stand_ins

        url = request if isinstance(request, str) else request.full_url
        if url.startswith("file:"):
            with open(url[len("file://") :], "rb") as file:
                content = file.read()
        else:
            content = stand_ins.content(url)
        headers = {"Content-Length": str(len(content)), "content-length": str(len(content))}
        return urllib.response.addinfourl(io.BytesIO(content), headers, url, code=200)


def _offline():
    import urllib.request

    urllib.request.install_opener(_Reply())
    if importlib.util.find_spec("requests") is None:
        return
    # the import of requests costs a tenth of a second: only where a tutorial names it
    if "requests" in os.environ.get("TUTORIAL_IMPORTS", "").split(","):
        import requests
        import stand_ins

        def send(self, request, **kwargs):
            reply = requests.Response()
            reply.status_code, reply.url, reply.request = 200, request.url, request
            reply._content = stand_ins.content(request.url)
            return reply

        requests.adapters.HTTPAdapter.send = send


if os.environ.get("TUTORIAL_PACKAGE"):
    sys.path.append(os.path.dirname(__file__))
    os.environ.setdefault("MPLBACKEND", "Agg")
    _offline()
    try:
        _alias(os.environ["TUTORIAL_PACKAGE"])
    except ImportError as error:  # a process with another Python, or without the package
        if os.environ.get("TUTORIAL_DEBUG"):
            print(f"no alias for tvm: {error}", file=sys.stderr)
