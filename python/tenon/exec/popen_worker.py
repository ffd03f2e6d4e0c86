"""Body of the processes of `tenon.contrib.popen_pool`: calls come on a pipe, results go back."""

import os
import pickle
import struct
import sys
import threading

from tenon.contrib.popen_pool import StatusKind, _pickler


class _Replies:
    """Sends one reply for each call: the result or the time limit, whichever is first."""

    def __init__(self, writer):
        self._writer = writer
        self._lock = threading.Lock()
        self._open = False

    def begin(self):
        self._open = True

    def send(self, status, value):
        with self._lock:
            if not self._open:
                return
            self._open = False
            try:
                data = _pickler.dumps((int(status), value), protocol=pickle.HIGHEST_PROTOCOL)
            except Exception as err:
                text = f"the result cannot be sent back: {type(err).__name__}: {err}"
                data = pickle.dumps((int(StatusKind.EXCEPTION), RuntimeError(text)))
            self._writer.write(struct.pack("<Q", len(data)))
            self._writer.write(data)
            self._writer.flush()


def _serve(reader, replies):
    while True:
        head = reader.read(8)
        if len(head) < 8:
            return
        data = reader.read(struct.unpack("<Q", head)[0])
        replies.begin()
        timer = None
        try:
            fn, args, kwargs, timeout = pickle.loads(data)
            if timeout is not None:
                timer = threading.Timer(timeout, replies.send, (StatusKind.TIMEOUT, None))
                timer.daemon = True
                timer.start()
            status, value = StatusKind.COMPLETE, fn(*args, **kwargs)
        except Exception as err:
            status, value = StatusKind.EXCEPTION, err
        if timer is not None:
            timer.cancel()
        replies.send(status, value)


def main():
    """Serve the pipes whose numbers are the first two arguments."""
    reader = os.fdopen(int(sys.argv[1]), "rb")
    writer = os.fdopen(int(sys.argv[2]), "wb")
    if sys.argv[3] == "1":
        import tenon.as_tvm  # noqa: F401
    try:
        _serve(reader, _Replies(writer))
    except (BrokenPipeError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()
