import { LayerloomError } from '../base/errors/errors.js';
import { nodeProblem } from './prebuilt.js';

// Import this module first: an older Node.js lacks functions that other modules call when loaded.
const { platform, arch, versions } = process;
const problem = nodeProblem(versions.node);
if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
