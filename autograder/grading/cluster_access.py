"""How to reach a dask.distributed scheduler, and what protects the way to it.

A task carries the lesson's key and a student's work, so the connection is encrypted and both ends show
certificates, unless the instructor says otherwise. See https://distributed.dask.org/en/stable/tls.html
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.model.errors import CourseError

if TYPE_CHECKING:
    from distributed import Security

ENCRYPTED = "tls://"
FILES = AUTHORITY, CERTIFICATE, PRIVATE_KEY = "ca.pem", "cert.pem", "key.pem"


@dataclass(frozen=True)
class Cluster:
    """A scheduler's address, and a folder with certificates: ca.pem, cert.pem and key.pem.

    Without a folder, dask's own configuration names them. `in_clear` allows a connection that is
    neither encrypted nor authenticated.
    """

    address: str
    folder: Path | None = None
    in_clear: bool = False

    def security(self) -> "Security | None":
        """Return the certificates to connect with; None for a connection in clear.

        Raises CourseError if the address is not encrypted and nobody allowed that, or if certificates
        are missing.
        """
        if self.address.startswith(ENCRYPTED):
            return _from_folder(self.folder) if self.folder else _configured()
        if self.folder is not None or not self.in_clear:
            raise CourseError(
                f"the connection to {self.address} would not be encrypted: expected an address that "
                f"begins with {ENCRYPTED}; the lesson's key and the submissions would travel in clear "
                "(--cluster-in-clear allows it, for a network that is yours alone)"
            )
        return None


def _from_folder(folder: Path) -> "Security":
    from distributed import Security

    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise CourseError(f"no {', '.join(missing)} in {folder}: expected {', '.join(FILES)}")
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        tls_client_cert=str(folder / CERTIFICATE),
        tls_client_key=str(folder / PRIVATE_KEY),
    )


def _configured() -> "Security":
    from distributed import Security

    security = Security(require_encryption=True)
    found = security.get_tls_config_for_role("client")
    if not (found["ca_file"] and found["cert"]):
        raise CourseError(
            "no certificates to connect with: name a folder with --cluster-security, or set "
            "distributed.comm.tls in dask's configuration"
        )
    return security
