"""Which file system holds a path, and whether it is one of those on which SQLite's locks cannot be trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

NETWORK = frozenset(
    {
        "9p",
        "acfs",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fhgfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "webdav",
    }
)
NETWORK_FUSE = frozenset(
    {
        "afp",
        "beegfs",
        "ceph",
        "cifs",
        "curlftpfs",
        "davfs2",
        "gcsfuse",
        "glusterfs",
        "google-drive-ocamlfuse",
        "gvfsd-fuse",
        "juicefs",
        "moosefs",
        "mount-s3",
        "nfs",
        "rclone",
        "s3fs",
        "smbnetfs",
        "sshfs",
        "vmhgfs-fuse",
        "webdav",
    }
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    point: str
    kind: str
    """The file system's name as the system gives it, such as `ext4` or `fuse.sshfs`."""

    @property
    def network(self) -> bool:
        family, _, program = self.kind.lower().partition(".")
        return program in NETWORK_FUSE if family == "fuse" and program else family in NETWORK


def mount_table() -> Sequence[Mount]:
    """All mounts, in the order they were made."""
    table = Path("/proc/self/mountinfo")
    if table.exists():
        return parse(table.read_text("utf-8", "surrogateescape"))
    import psutil

    return [Mount(point=each.mountpoint, kind=each.fstype) for each in psutil.disk_partitions(all=True)]


def parse(mountinfo: str) -> Sequence[Mount]:
    """Read the text of /proc/self/mountinfo: the mount point is the fifth word, the kind follows a lone dash."""
    mounts: list[Mount] = []
    for line in mountinfo.splitlines():
        place, _, rest = line.partition(" - ")
        point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), place.split(" ")[4])
        mounts.append(Mount(point=point, kind=rest.split(" ")[0]))
    return mounts


def mount_of(path: Path, mounts: Sequence[Mount]) -> Mount | None:
    """The mount that holds `path`, which need not exist yet; a later mount on the same point hides an earlier one."""
    real = path.resolve()
    above = {str(real), *map(str, real.parents)}
    holding = [each for each in mounts if each.point in above]
    return max(reversed(holding), key=lambda each: len(each.point), default=None)
