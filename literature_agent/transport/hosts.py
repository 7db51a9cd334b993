"""The hosts we ask: where they are, how fast they may be asked, and who they want to be told is asking."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from literature_agent.settings import Settings
from literature_agent.transport.messages import Request, ServiceName

TOOL = "literature_agent"
"""Name registered with NCBI's usage policy as `tool=`."""

CREDENTIAL_NAMES = frozenset({"api_key", "email", "tool"})

# Requests a second. NCBI enforces 3, or 10 with a key, and answers 429 above (NBK25497); the others publish no
# number: Europe PMC has answered 429 and may bar an address, ClinicalTrials.gov's robots.txt asks for one second.
_RATES: dict[ServiceName, float] = {
    "eutils": 3,
    "pmc": 3,
    "europepmc": 5,
    "biorxiv": 1,
    "clinicaltrials": 1,
}
_EUTILS_RATE_WITH_KEY = 10.0


@dataclass(frozen=True)
class Host:
    """One service as these settings have it."""

    service: ServiceName
    base_url: str
    rate: float
    """Requests a second that the service allows."""
    row: str
    """Name under which its pace is shared: host, and a hash of the key where the key decides the limit."""
    jobs: int
    """Calls that may be under way at the same time."""

    @property
    def name(self) -> str:
        """Host and port."""
        return urlsplit(self.base_url).netloc


def host_of(service: ServiceName, settings: Settings) -> Host:
    """The host that answers `service`."""
    base_url = {
        "eutils": settings.ncbi_base_url,
        "pmc": settings.pmc_base_url,
        "europepmc": settings.europepmc_base_url,
        "biorxiv": settings.biorxiv_base_url,
        "clinicaltrials": settings.clinicaltrials_base_url,
    }[service]
    row, rate = urlsplit(base_url).netloc.lower(), _RATES[service]
    if service == "eutils" and settings.ncbi_api_key is not None:
        rate = _EUTILS_RATE_WITH_KEY
        row += "#" + hashlib.sha256(settings.ncbi_api_key.get_secret_value().encode()).hexdigest()[:16]
    return Host(service, base_url, rate, row, jobs=3 if settings.ncbi_api_key is None else 10)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself: `localhost`, 127.0.0.0/8 or ::1."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def services() -> tuple[ServiceName, ...]:
    """All services, in the order of the table of rates."""
    return tuple(_RATES)


def credentials(request: Request, settings: Settings) -> tuple[tuple[str, str], ...]:
    """The parameters by which NCBI wants to be told who asks; none for anybody else.

    The ID converter takes `tool` and `email` but no key; OAI-PMH refuses parameters it does not know.
    """
    id_converter = request.service == "pmc" and request.path.lstrip("/").startswith("tools/idconv")
    if request.service != "eutils" and not id_converter:
        return ()
    given = [("tool", TOOL)]
    if settings.email is not None:
        given.append(("email", settings.email.get_secret_value().strip()))
    if settings.ncbi_api_key is not None and request.service == "eutils":
        given.append(("api_key", settings.ncbi_api_key.get_secret_value().strip()))
    return tuple(given)
