"""A session of remote execution whose other side is this process."""

import os
from pathlib import Path

from ._ffi.files import write_file
from ._ffi.registry import get_global_func
from .contrib.utils import tempdir


class LocalSession:
    """What `rpc.connect` gives for another machine, for this one: a program written for a session
    runs without a server.

    Files go to a temporary folder, which lives as long as the session.

    Examples
    --------
    ::

        remote = tenon.rpc.LocalSession()
        remote.upload("lib.tar")
        function = remote.load_module("lib.tar")
        function(tenon.nd.array(x, remote.cpu()))
    """

    def __init__(self):
        self._folder = tempdir()

    def _path(self, name):
        """Where a file of the session is: below its folder, whatever the name says."""
        folder = Path(self._folder.path).resolve()
        path = (folder / name).resolve()
        if folder not in path.parents:
            raise ValueError(f"LocalSession: {name!r} is not the name of a file of the session")
        return path

    def upload(self, data, target=None):
        """Put a file into the session.

        Parameters
        ----------
        data : str or bytes
            The path of a file of this machine, or what the file is to hold.
        target : str, optional
            The name in the session; that of the file by default.

        Raises
        ------
        ValueError
            Bytes are given without a name.
        """
        if isinstance(data, (bytes, bytearray)):
            if not target:
                raise ValueError("LocalSession.upload: bytes need a target, the name of the file")
            content = bytes(data)
        else:
            content = Path(data).read_bytes()
            target = target or os.path.basename(os.fspath(data))
        path = self._path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)

    def download(self, path):
        """What a file of the session holds.

        Parameters
        ----------
        path : str
            Its name.

        Returns
        -------
        bytearray
        """
        return bytearray(self._path(path).read_bytes())

    def remove(self, path):
        """Remove a file from the session; a missing file is ignored.

        Parameters
        ----------
        path : str
            Its name.
        """
        self._path(path).unlink(missing_ok=True)

    def load_module(self, path):
        """Load a library that was uploaded.

        Parameters
        ----------
        path : str
            Its name: a shared library, or an archive of objects, which is linked. The whole path of
            a file that was uploaded stands for it.

        Returns
        -------
        Module
        """
        from .runtime.module import load_module

        name = os.path.basename(path) if os.path.isabs(path) else path
        return load_module(str(self._path(name)))

    def download_linked_module(self, path):
        """A library of the session, linked.

        Parameters
        ----------
        path : str
            Its name: a shared library, or an archive of objects.

        Returns
        -------
        bytearray
            The shared library.
        """
        from .contrib import cc, tar

        if not path.endswith(".tar"):
            return self.download(path)
        work = tempdir()
        tar.untar(str(self._path(path)), work.path)
        linked = work.relpath("linked.so")
        cc.create_shared(linked, [work.relpath(n) for n in work.listdir() if n.endswith(".o")])
        return bytearray(Path(linked).read_bytes())

    def get_function(self, name):
        """A registered function.

        Parameters
        ----------
        name : str
            Its name.
        """
        return get_global_func(name)

    def system_lib(self):
        """The functions that are linked into this process."""
        from .runtime.module import system_lib

        return system_lib()

    def device(self, dev_type, dev_id=0):
        """A device of this machine.

        Parameters
        ----------
        dev_type : str or int
            Its kind.
        dev_id : int
            Its number.

        Returns
        -------
        Device
        """
        from .nd import device

        return device(dev_type, dev_id)

    def cpu(self, dev_id=0):
        """The processor, or one of its devices by number."""
        return self.device("cpu", dev_id)

    def cuda(self, dev_id=0):
        """A CUDA device by number."""
        return self.device("cuda", dev_id)

    def cl(self, dev_id=0):
        """An OpenCL device by number."""
        return self.device("opencl", dev_id)

    def ext_dev(self, dev_id=0):
        """A device of an extension by number."""
        return self.device("ext_dev", dev_id)
