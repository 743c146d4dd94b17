import { command } from '../framework/command.js';

export const build = command({
  name: 'build',
  group: 'installation',
  summary:
    'build the native addon on this machine, if no shipped one fits (needs CMake and a C++20 compiler)',
  examples: [
    ['layerloom build', 'build it into the installed package'],
    ['CXX=clang++ layerloom build --quiet', 'with another compiler, and without its output'],
  ],
  run: async (given) => (await import('../work/models/build.js')).buildCommand(given),
});
