"""The subject categories of both servers, as the API writes them."""

from __future__ import annotations

from typing import Literal

from literature_agent.errors import meant, refused
from literature_agent.sources._text import quoted

Server = Literal["biorxiv", "medrxiv"]

LABELS: dict[Server, str] = {"biorxiv": "bioRxiv", "medrxiv": "medRxiv"}

CATEGORIES: dict[Server, tuple[str, ...]] = {
    "biorxiv": (
        "animal behavior and cognition",
        "biochemistry",
        "bioengineering",
        "bioinformatics",
        "biophysics",
        "cancer biology",
        "cell biology",
        "clinical trials",
        "developmental biology",
        "ecology",
        "epidemiology",
        "evolutionary biology",
        "genetics",
        "genomics",
        "immunology",
        "microbiology",
        "molecular biology",
        "neuroscience",
        "paleontology",
        "pathology",
        "pharmacology and toxicology",
        "physiology",
        "plant biology",
        "scientific communication and education",
        "synthetic biology",
        "systems biology",
        "zoology",
    ),
    "medrxiv": (
        "addiction medicine",
        "allergy and immunology",
        "anesthesia",
        "cardiovascular medicine",
        "dentistry and oral medicine",
        "dermatology",
        "emergency medicine",
        "endocrinology",
        "epidemiology",
        "forensic medicine",
        "gastroenterology",
        "genetic and genomic medicine",
        "geriatric medicine",
        "health economics",
        "health informatics",
        "health policy",
        "health systems and quality improvement",
        "hematology",
        "hiv aids",
        "infectious diseases",
        "intensive care and critical care medicine",
        "medical education",
        "medical ethics",
        "nephrology",
        "neurology",
        "nursing",
        "nutrition",
        "obstetrics and gynecology",
        "occupational and environmental health",
        "oncology",
        "ophthalmology",
        "orthopedics",
        "otolaryngology",
        "pain medicine",
        "palliative medicine",
        "pathology",
        "pediatrics",
        "pharmacology and therapeutics",
        "primary care research",
        "psychiatry and clinical psychology",
        "public and global health",
        "radiology and imaging",
        "rehabilitation medicine and physical therapy",
        "respiratory medicine",
        "rheumatology",
        "sexual and reproductive health",
        "sports medicine",
        "surgery",
        "toxicology",
        "transplantation",
        "urology",
        "vascular medicine",
    ),
}


def folded_category(category: str) -> str:
    """Lower case, with blanks for `_`, `-` and `/`: `HIV/AIDS` and `hiv_aids` are one category."""
    return " ".join(category.lower().replace("_", " ").replace("-", " ").replace("/", " ").replace("&", "and").split())


def known_category(category: str | None, server: Server) -> str | None:
    """The category as the server writes it; blank gives None.

    An unknown one would be ignored by the server and everything be listed (K058).

    Raises:
        InvalidInputError: the server has no such category; the message lists those it has.
    """
    wanted = folded_category(category or "")
    if not wanted or wanted in CATEGORIES[server]:
        return wanted or None
    # The website adds what a category includes: "infectious diseases (except hiv/aids)".
    if (bare := wanted.partition("(")[0].strip()) in CATEGORIES[server]:
        return bare
    raise refused(
        server,
        f"category={quoted(category)} is no category of {LABELS[server]}.{meant(wanted, CATEGORIES[server])}",
        f"Use one of: {', '.join(CATEGORIES[server])}.",
    )
