"""Bundled scenarios: data only, one TOML file each; read by `nmdp_pin._scenario`."""
