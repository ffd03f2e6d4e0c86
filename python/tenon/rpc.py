"""Remote execution: `LocalSession`, and the names of the rest, so that programs which import them
load."""

import sys as _sys

from ._later import attach as _attach
from ._local_session import LocalSession

__path__ = []
_attach(
    __name__,
    "remote execution does not work yet; build and run on this machine",
    {
        "": ("PopenSession RPCSession Server TrackerSession connect connect_tracker with_minrpc"),
        "base": "RPC_SESS_MASK TrackerCode random_key recvjson sendjson split_random_key",
        "client": "PopenSession RPCSession TrackerSession connect connect_tracker",
        "minrpc": "with_minrpc",
        "proxy": "Proxy websocket_proxy_server",
        "server": "Server",
        "server_ios_launcher": "RPCServerMode ServerIOSContextManager ServerIOSLauncher",
        "testing": "",
        "tracker": "Tracker",
    },
)
# what needs no other machine is there
_sys.modules[f"{__name__}.client"].LocalSession = LocalSession
