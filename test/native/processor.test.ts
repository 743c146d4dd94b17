import { expect, it } from 'vitest';
import { instructionSets } from '../../src/core/native/addon.js';
import { instructionSetsOfLinux } from '../fixtures/processor.js';

it.skipIf(process.platform !== 'linux' || process.arch !== 'x64')(
  'the instruction sets are those that Linux says the processor has',
  () => {
    expect(instructionSets().available).toEqual(instructionSetsOfLinux());
  },
);
