import { LayerloomError } from '../base/errors/errors.js';
import { nodeProblem } from './prebuilt.js';

// Import this first: an older Node.js would otherwise fail at a function it lacks.
const { platform, arch, versions } = process;
const problem = nodeProblem(versions.node);
if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
