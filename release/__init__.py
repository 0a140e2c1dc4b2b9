"""Makes a release: packages, image, bill of materials, licences and checksums (CONTRIBUTING.md)."""
