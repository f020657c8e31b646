# Sourced by ci/platforms and ci/windows: a compiler that can build the standard library for systems whose own is not at hand.
# Debian's packages, in their own places; another toolchain stays first in PATH.

cross_packages=(rustc-web cargo-web rust-web-src)

# need PACKAGE...: installs what is missing.
need() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null ||
    { echo "these packages cannot be installed: ${missing[*]}" >&2; exit 1; }
}

# cross COMMAND TARGET ARGUMENT...: cargo with that compiler.
cross() {
  RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 \
    /usr/bin/cargo "$1" --locked -Zbuild-std=std,panic_unwind --target "$2" "${@:3}"
}
