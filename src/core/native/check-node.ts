import { LayerloomError } from '../base/errors.js';
import { nodeProblem } from './prebuilt.js';

// Imported for its effect, before anything else: an older Node.js would fail later, by the first function it lacks.
const { platform, arch, versions } = process;
const problem = nodeProblem(versions.node);
if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
