import { argument, command } from '../framework/command.js';

export const doctor = command({
  name: 'doctor',
  group: 'installation',
  summary: 'check that merging works here: addon, processor, memory, file system, hub cache, lm_eval',
  arguments: {
    directory: argument('[dir]', 'the directory for merges (default: the working directory)'),
  },
  examples: [
    ['layerloom doctor', 'check the installation and this directory'],
    ['layerloom doctor /scratch --json', 'check another disk; print JSON'],
  ],
  run: async (given) => (await import('../work/models/doctor.js')).doctorCommand(given),
});
