// @ts-check

/**
 * Platforms with an addon, by folder in `prebuilds/`. `zig`: the target, with the oldest glibc or macOS;
 * `wheel`: Python's platform tag.
 *
 * @type {Readonly<Record<string, { zig: string, system: 'Linux' | 'Darwin', processor: string, wheel: string }>>}
 */
export const targets = {
  'linux-x64': {
    zig: 'x86_64-linux-gnu.2.28',
    system: 'Linux',
    processor: 'x86_64',
    wheel: 'manylinux_2_28_x86_64',
  },
  'linux-arm64': {
    zig: 'aarch64-linux-gnu.2.28',
    system: 'Linux',
    processor: 'aarch64',
    wheel: 'manylinux_2_28_aarch64',
  },
  'linux-x64-musl': {
    zig: 'x86_64-linux-musl',
    system: 'Linux',
    processor: 'x86_64',
    wheel: 'musllinux_1_2_x86_64',
  },
  'linux-arm64-musl': {
    zig: 'aarch64-linux-musl',
    system: 'Linux',
    processor: 'aarch64',
    wheel: 'musllinux_1_2_aarch64',
  },
  'darwin-arm64': {
    zig: 'aarch64-macos.11.0',
    system: 'Darwin',
    processor: 'arm64',
    wheel: 'macosx_11_0_arm64',
  },
  'darwin-x64': {
    zig: 'x86_64-macos.11.0',
    system: 'Darwin',
    processor: 'x86_64',
    wheel: 'macosx_11_0_x86_64',
  },
};
