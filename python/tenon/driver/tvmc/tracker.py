"""Where the tracker of other machines is."""


def tracker_host_port_from_cli(rpc_tracker_str):
    """Host and port from text.

    Parameters
    ----------
    rpc_tracker_str : str or None
        ``host:port``; without a port it is 9090.

    Returns
    -------
    (str, int) or (None, None)
    """
    if not rpc_tracker_str:
        return None, None
    host, _, port = rpc_tracker_str.rpartition(":")
    return (host, int(port)) if host else (port, 9090)
