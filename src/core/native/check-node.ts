import { LayerloomError } from '../base/errors/errors.js';
import { nodeProblem } from './prebuilt.js';

// This module must be imported first, because an older Node.js would fail at a missing function.
const { platform, arch, versions } = process;
const problem = nodeProblem(versions.node);
if (problem !== undefined) throw new LayerloomError('PLATFORM_UNSUPPORTED', { platform, arch, ...problem });
