/**
 * The parts of the hub's library in use. The build replaces the compiled module by a bundle
 * (`scripts/bundle-libraries.mjs`).
 */
export {
  checkRepoAccess,
  commitIter,
  createBranch,
  createRepo,
  HubApiError,
  pathsInfo,
} from '@huggingface/hub';
