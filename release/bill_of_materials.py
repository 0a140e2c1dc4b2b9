"""The bill of materials of a release, as CycloneDX."""

from collections.abc import Sequence
from datetime import datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from release.shipped import Package

SCHEMA = SchemaVersion.V1_6


def bill_of_materials(
    version: str, commit: str, made_at: datetime, packages: Sequence[Package]
) -> str:
    """Return the JSON document, which is the same for the same commit.

    Lock files say what is installed, and not why: Fanion depends on each package directly.
    """
    fanion = _component(Package("pypi", "fanion", version, "MIT"), ComponentType.APPLICATION)
    parts = [_component(package, ComponentType.LIBRARY) for package in packages]
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, f"{fanion.purl}#{commit}"),
        metadata=BomMetaData(component=fanion, timestamp=made_at),
        components=parts,
    )
    bom.register_dependency(fanion, parts)
    return make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2) + "\n"


def _component(package: Package, kind: ComponentType) -> Component:
    group, _, name = package.name.rpartition("/")
    purl = PackageURL(package.kind, group or None, name, package.version)
    return Component(
        type=kind,
        group=group or None,
        name=name,
        version=package.version,
        licenses=[LicenseFactory().make_from_string(package.licence)],
        purl=purl,
        bom_ref=purl.to_string(),
    )
