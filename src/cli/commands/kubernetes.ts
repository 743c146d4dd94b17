import { command } from '../framework/command.js';
import { option } from '../framework/option.js';
import {
  evaluationOptions,
  experimentFile,
  jobOptions,
  kubernetesOptions,
  ownEvaluationOptions,
  trainingDirectory,
  trainingJobOptions,
} from '../options/scheduling.js';

export const kubernetes = command({
  name: 'kubernetes',
  summary: 'print a Kubernetes manifest of Jobs that run an experiment in parts',
  arguments: { experiment: experimentFile },
  options: {
    ...jobOptions,
    image: option('--image <image>', 'image that has layerloom', { required: true }),
    experimentPath: option('--experiment-path <path>', 'path of the experiment file inside pods', {
      default: 'its path here',
    }),
    ...kubernetesOptions,
    ...evaluationOptions,
    evaluateImage: ownEvaluationOptions.evaluateImage,
  },
  examples: [
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study > jobs.yaml',
      'merge on the volume of the claim `models`',
    ],
    [
      'layerloom experiment kubernetes study.yaml --image registry/layerloom --volume models=/data --experiment-path /data/study.yaml -o /data/study --evaluate --gpus 1 > jobs.yaml',
      'score the models too, each pod on one GPU',
    ],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).experimentKubernetesCommand(given),
});

export const trainKubernetes = command({
  name: 'kubernetes',
  summary: 'print a Kubernetes manifest of Jobs for the runs',
  arguments: { directory: trainingDirectory },
  options: {
    ...trainingJobOptions,
    image: option('--image <image>', 'image that has the trainer and layerloom', { required: true }),
    trainingPath: option('--training-path <path>', 'path of the directory inside pods', {
      default: 'its path here',
    }),
    ...kubernetesOptions,
  },
  examples: [
    [
      'layerloom train kubernetes ./train-math --image registry/trl --volume models=/data --training-path /data/train-math > jobs.yaml',
      'a pod for each run',
    ],
    [
      'layerloom train kubernetes /data/train-math --image registry/trl --volume models=/data --parts 2 --time 1-0 > jobs.yaml',
      'two pods, for at most a day',
    ],
  ],
  run: async (given) => (await import('../work/studies/schedulers.js')).trainKubernetesCommand(given),
});
