import { stringify } from 'yaml';
import { shellWord } from '../../core/base/errors/command-line.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { checkTexts, isPlain, mebibytesOf, secondsOf } from './checks.js';
import {
  type EvaluationJobs,
  type Job,
  type JobParameters,
  type Jobs,
  jobsOf,
  type TrainingJobParameters,
} from './jobs.js';

/** A persistent volume claim and its mount path. */
export interface ClaimedVolume {
  readonly claim: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

interface KubernetesSettings {
  /** Image that contains layerloom and, for training, the trainer. */
  readonly image: string;
  /** Prefix of job names; default: the last part of `out`, in characters that Kubernetes allows. */
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly volumes: readonly ClaimedVolume[];
  /** Memory per pod, as for sbatch: `32G`, in units of 1024³ bytes. */
  readonly memory?: string | undefined;
  /** Time limit per pod, as for sbatch: `02:00:00`. */
  readonly time?: string | undefined;
}

/** Parameters of `kubernetesManifest` for an experiment; paths are those inside pods. */
export interface KubernetesParameters extends JobParameters, KubernetesSettings {
  /** Also score the models; needs `evaluate:` in the experiment. */
  readonly evaluation?: KubernetesEvaluation | undefined;
}

/** Settings of scoring jobs; defaults are the other jobs' settings. */
export interface KubernetesEvaluation extends EvaluationJobs {
  /** Image with layerloom and lm-evaluation-harness. */
  readonly image?: string | undefined;
  readonly time?: string | undefined;
}

/** Parameters of `kubernetesManifest` for a training; paths are those inside pods. */
export interface KubernetesTrainingParameters extends TrainingJobParameters, KubernetesSettings {}

/** Kubernetes removes an ended job after a week. */
const keptSeconds = 7 * 24 * 3600;

const retries = 3;

/**
 * Returns a manifest (YAML, `batch/v1`, Kubernetes 1.29 or later): an Indexed Job that computes the shards, a
 * Job that assembles the merges, and with `evaluation` an Indexed Job that scores the models. For a training,
 * the first trains the runs, and the second reports which exist.
 *
 * Kubernetes jobs cannot depend on each other, so the second and third Job are suspended. A comment has the commands to
 * resume each after the previous Job has ended, successfully or not.
 *
 * @throws INVALID_PARAMETER for counts below 1, invalid Kubernetes names, and paths outside the volumes
 */
export const kubernetesManifest = (
  parameters: KubernetesParameters | KubernetesTrainingParameters,
): string => {
  const { namespace, volumes } = parameters;
  const found = jobsOf(parameters);
  const name = parameters.name ?? nameOf(found.out);
  checkName('name', name, 45);
  if (namespace !== undefined) checkName('namespace', namespace, 63);
  checkVolumes(volumes, found.paths);
  const texts = found.jobs.flatMap((job) =>
    job === undefined ? [] : stringify(documentOf(job, name, namespace, volumes), { lineWidth: 0 }),
  );
  return `${usage(found, name, namespace)}${texts.join('---\n')}`;
};

const documentOf = (
  job: Job,
  prefix: string,
  namespace: string | undefined,
  volumes: readonly ClaimedVolume[],
) => {
  const { count, isArray } = job;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: `${prefix}-${job.name}`, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      ...(job.name === 'parts' ? {} : { suspend: true }),
      ...(isArray
        ? {
            completionMode: 'Indexed',
            completions: count,
            parallelism: count,
            backoffLimitPerIndex: retries,
          }
        : { backoffLimit: retries }),
      // A retry would fail too with these exit codes: 2 and 3 (wrong command or input), 4 (failed merges).
      podFailurePolicy: {
        rules: [
          { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          {
            action: isArray ? 'FailIndex' : 'FailJob',
            onExitCodes: { containerName: 'layerloom', operator: 'In', values: [2, 3, 4] },
          },
        ],
      },
      ttlSecondsAfterFinished: keptSeconds,
      template: { spec: podOf(job, volumes) },
    },
  };
};

const podOf = ({ words, count, isArray, gpus, limits, prefix }: Job, volumes: readonly ClaimedVolume[]) => {
  const { image, cpus, memory, time } = limits;
  checkTexts({ image }, prefix);
  const asked = {
    ...(cpus === undefined ? {} : { cpu: String(cpus) }),
    ...(memory === undefined ? {} : { memory: `${mebibytesOf('memory', memory)}Mi` }),
  };
  const most = { ...asked, ...(gpus === 0 ? {} : { 'nvidia.com/gpu': String(gpus) }) };
  const claims = [...new Set(volumes.map(({ claim }) => claim))];
  // Kubernetes replaces $(NAME) in arguments, and $$ by $.
  const command = words.map((word) => word.replaceAll('$', '$$$$'));
  return {
    restartPolicy: 'Never',
    ...(time === undefined ? {} : { activeDeadlineSeconds: secondsOf(`${prefix}time`, time) }),
    containers: [
      {
        name: 'layerloom',
        image,
        command: isArray ? [...command, `$(JOB_COMPLETION_INDEX)/${count}`] : command,
        ...(Object.keys(most).length === 0
          ? {}
          : { resources: { ...(Object.keys(asked).length === 0 ? {} : { requests: asked }), limits: most } }),
        volumeMounts: volumes.map(({ claim, path, readOnly }) => ({
          name: `claim-${claims.indexOf(claim)}`,
          mountPath: path,
          ...(readOnly ? { readOnly } : {}),
        })),
      },
    ],
    volumes: claims.map((claimName, index) => ({
      name: `claim-${index}`,
      persistentVolumeClaim: { claimName },
    })),
  };
};

const usage = (
  { about, jobs: [, , evaluation] }: Jobs,
  name: string,
  namespace: string | undefined,
): string => {
  const kubectl = namespace === undefined ? 'kubectl' : `kubectl -n ${shellWord(namespace)}`;
  const steps = [
    `${kubectl} apply -f jobs.yaml`,
    `ended() { until ${kubectl} get job "$1" -o jsonpath='{.status.conditions[?(@.status=="True")].type}' | grep -qE 'Complete|Failed'; do sleep 10; done; }`,
    `resume() { ${kubectl} patch job "$1" --type=merge -p '{"spec":{"suspend":false}}'; }`,
    `ended ${name}-parts; resume ${name}-last`,
    ...(evaluation === undefined ? [] : [`ended ${name}-last; resume ${name}-evaluate`]),
  ];
  return `# Runs ${about.subject} in parts, and a last job that ${about.last}.
# Jobs cannot depend on each other: all but the first are suspended. The next one may run even if a job failed.
${steps.map((step) => `#   ${step}\n`).join('')}`;
};

const nameOf = (out: string): string => {
  const last = out.replace(/\/+$/, '').replace(/^.*\//, '').toLowerCase();
  const name = last
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'layerloom' : `layerloom-${name}`;
};

const checkName = (parameter: string, value: string, longest: number): void => {
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(value) || value.length > longest)
    throw invalidParameter(
      parameter,
      value,
      `lower-case letters, digits and hyphens between them, at most ${longest}`,
    );
};

const checkVolumes = (
  volumes: readonly ClaimedVolume[],
  paths: Readonly<Record<string, string | undefined>>,
): void => {
  for (const { claim, path } of volumes) {
    if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(claim) || !/^\/[^:]*$/.test(path) || !isPlain(path))
      throw invalidParameter(
        'volume',
        `${claim}=${path}`,
        'CLAIM=/PATH, the name of a persistent volume claim and an absolute path without colons',
      );
  }
  const isOn = (path: string, at: string) =>
    at === '/' || path === at || path.startsWith(`${at.replace(/\/+$/, '')}/`);
  for (const [parameter, path] of Object.entries(paths))
    if (path !== undefined && !volumes.some((volume) => isOn(path, volume.path)))
      throw invalidParameter(
        parameter,
        path,
        'a path inside pods, on one of the volumes (each given as CLAIM=/PATH)',
      );
};
