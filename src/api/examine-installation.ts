import { LayerloomError } from '../core/base/errors/errors.js';
import { version } from '../core/base/files/version.js';
import { reading } from '../core/base/files/writing.js';
import {
  type AddonFacts,
  addonFindings,
  examineAddon,
  examinePlatform,
  type PlatformFacts,
  platformFinding,
} from './doctor/addon.js';
import { type DirectoryFacts, directoryFindings, examineDirectory } from './doctor/directory.js';
import { type Finding, ok } from './doctor/finding.js';
import { examineMachine, type MachineFacts, machineFindings } from './doctor/machine.js';
import {
  examineHarness,
  examineHubCache,
  type HarnessFacts,
  type HubCacheFacts,
  harnessFinding,
  hubCacheFinding,
} from './doctor/surroundings.js';

/** State of an installation and its machine. */
export interface Examination {
  /** True if merging works here: no finding is a problem. */
  readonly ok: boolean;
  readonly layerloom: string;
  readonly node: { readonly version: string; readonly path: string };
  readonly platform: PlatformFacts;
  /** Addon, or the error of loading it. */
  readonly addon: AddonFacts | LayerloomError;
  readonly machine: MachineFacts;
  readonly directory: DirectoryFacts;
  readonly hubCache: HubCacheFacts;
  readonly harness: HarnessFacts;
  readonly findings: readonly Finding[];
}

/**
 * Examines the installation: platform, addon, instruction sets, cores, memory, the file system of a
 * directory, hub cache and lm_eval. Reads no models. Tests links with a small temporary file in the
 * directory.
 *
 * @param directory output directory of merges; default: the working directory
 * @throws LayerloomError READ_FAILED if the directory does not exist
 */
export const examineInstallation = async (directory = '.'): Promise<Examination> => {
  const [node, platform, addon] = [
    { version: process.versions.node, path: process.execPath },
    examinePlatform(),
    addonOrError(),
  ];
  const [machine, hubCache, harness] = [examineMachine(), examineHubCache(), examineHarness()];
  const place = await reading(directory, () => examineDirectory(directory));
  const findings = [
    ok('layerloom', version),
    ok('Node.js', `${node.version}, ${node.path}`),
    platformFinding(platform),
    ...addonFindings(addon),
    ...machineFindings(machine),
    ...directoryFindings(place),
    hubCacheFinding(hubCache),
    harnessFinding(harness),
  ];
  const isOk = findings.every(({ mark }) => mark !== 'problem');
  return {
    ok: isOk,
    layerloom: version,
    node,
    platform,
    addon,
    machine,
    directory: place,
    hubCache,
    harness,
    findings,
  };
};

const addonOrError = (): AddonFacts | LayerloomError => {
  try {
    return examineAddon();
  } catch (error) {
    if (error instanceof LayerloomError) return error;
    throw error;
  }
};
