"""Remote execution: the names only, so that programs which import them load."""

from ._later import attach as _attach

__path__ = []
_attach(
    __name__,
    "remote execution does not work yet; build and run on this machine",
    {
        "": (
            "LocalSession PopenSession RPCSession Server TrackerSession connect connect_tracker "
            "with_minrpc"
        ),
        "base": "RPC_SESS_MASK TrackerCode random_key recvjson sendjson split_random_key",
        "client": "LocalSession PopenSession RPCSession TrackerSession connect connect_tracker",
        "minrpc": "with_minrpc",
        "proxy": "Proxy websocket_proxy_server",
        "server": "Server",
        "server_ios_launcher": "RPCServerMode ServerIOSContextManager ServerIOSLauncher",
        "testing": "",
        "tracker": "Tracker",
    },
)
