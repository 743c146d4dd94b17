import type { Citation } from './method.js';

// Publications that several methods cite.

export const layerSwapping: Citation = {
  key: 'bandarkar2024layerswapping',
  title: 'Layer Swapping for Zero-Shot Cross-Lingual Transfer in Large Language Models',
  authors: [
    'Bandarkar, Lucas',
    'Muller, Benjamin',
    'Yuvraj, Pritish',
    'Hou, Rui',
    'Singhal, Nayan',
    'Lv, Hongjiang',
    'Liu, Bing',
  ],
  year: 2024,
  source: { arxiv: '2410.01335' },
};

export const modelSoups: Citation = {
  key: 'wortsman2022soups',
  title:
    'Model soups: averaging weights of multiple fine-tuned models improves accuracy without increasing inference time',
  authors: ['Wortsman, Mitchell', 'others'],
  year: 2022,
  source: { arxiv: '2203.05482' },
};

export const checkpointMerging: Citation = {
  key: 'tian2025wsm',
  title: 'WSM: Decay-Free Learning Rate Schedule via Checkpoint Merging for LLM Pre-training',
  authors: [
    'Tian, Changxin',
    'Wang, Jiapeng',
    'Zhao, Qian',
    'Chen, Kunlong',
    'Liu, Jia',
    'Liu, Ziqi',
    'Mao, Jiaxin',
    'Zhao, Wayne Xin',
    'Zhang, Zhiqiang',
    'Zhou, Jun',
  ],
  year: 2025,
  source: { arxiv: '2507.17634' },
};

export const pretrainedAveraging: Citation = {
  key: 'li2025pma',
  title: 'Model Merging in Pre-training of Large Language Models',
  authors: ['Li, Yunshui', 'others'],
  year: 2025,
  source: { arxiv: '2505.12082' },
};

export const taskVectors: Citation = {
  key: 'ilharco2023taskarithmetic',
  title: 'Editing Models with Task Arithmetic',
  authors: ['Ilharco, Gabriel', 'others'],
  year: 2022,
  source: { arxiv: '2212.04089' },
};

export const fisherMerging: Citation = {
  key: 'matena2022fisher',
  title: 'Merging Models with Fisher-Weighted Averaging',
  authors: ['Matena, Michael', 'Raffel, Colin'],
  year: 2022,
  source: { arxiv: '2111.09832' },
};

export const regMeanMerging: Citation = {
  key: 'jin2023regmean',
  title: 'Dataless Knowledge Fusion by Merging Weights of Language Models',
  authors: ['Jin, Xisen', 'Ren, Xiang', 'Preotiuc-Pietro, Daniel', 'Cheng, Pengxiang'],
  year: 2023,
  source: { arxiv: '2212.09849' },
};

export const isotropicMerging: Citation = {
  key: 'marczak2025isotropic',
  title: 'No Task Left Behind: Isotropic Model Merging with Common and Task-Specific Subspaces',
  authors: ['Marczak, Daniel', 'others'],
  year: 2025,
  source: { arxiv: '2502.04959' },
};

export const taskSingularVectors: Citation = {
  key: 'gargiulo2025task',
  title: 'Task Singular Vectors: Reducing Task Interference in Model Merging',
  authors: ['Gargiulo, Antonio Andrea', 'others'],
  year: 2025,
  source: { arxiv: '2412.00081' },
};

export const tiesMerging: Citation = {
  key: 'yadav2023ties',
  title: 'TIES-Merging: Resolving Interference When Merging Models',
  authors: ['Yadav, Prateek', 'Tam, Derek', 'Choshen, Leshem', 'Raffel, Colin', 'Bansal, Mohit'],
  year: 2023,
  source: { arxiv: '2306.01708' },
};

export const superMario: Citation = {
  key: 'yu2023supermario',
  title: 'Language Models are Super Mario: Absorbing Abilities from Homologous Models as a Free Lunch',
  authors: ['Yu, Le', 'Yu, Bowen', 'Yu, Haiyang', 'Huang, Fei', 'Li, Yongbin'],
  year: 2023,
  source: { arxiv: '2311.03099' },
};

export const dellaMerging: Citation = {
  key: 'deep2024della',
  title: 'DELLA-Merging: Reducing Interference in Model Merging through Magnitude-Based Sampling',
  authors: ['Deep, Pala Tej', 'Bhardwaj, Rishabh', 'Poria, Soujanya'],
  year: 2024,
  source: { arxiv: '2406.11617' },
};

export const modelBreadcrumbs: Citation = {
  key: 'davari2023breadcrumbs',
  title: 'Model Breadcrumbs: Scaling Multi-Task Model Merging with Sparse Masks',
  authors: ['Davari, MohammadReza', 'Belilovsky, Eugene'],
  year: 2023,
  source: { arxiv: '2312.06795' },
};

export const modelStockPaper: Citation = {
  key: 'jang2024modelstock',
  title: 'Model Stock: All we need is just a few fine-tuned models',
  authors: ['Jang, Dong-Hwan', 'Yun, Sangdoo', 'Han, Dongyoon'],
  year: 2024,
  source: { arxiv: '2403.19522' },
};

export const fuseChat: Citation = {
  key: 'wan2024fusechat',
  title: 'FuseChat: Knowledge Fusion of Chat Models',
  authors: ['Wan, Fanqi', 'others'],
  year: 2024,
  source: { arxiv: '2408.07990' },
};

export const tokenizerTransplantation: Citation = {
  key: 'goddard2025transplantation',
  title: 'Training-Free Tokenizer Transplantation via Orthogonal Matching Pursuit',
  authors: ['Goddard, Charles', 'Fernandes Neto, Fernando'],
  year: 2025,
  source: { arxiv: '2506.06607' },
};

/** For methods without their own publication. */
export const mergekit: Citation = {
  key: 'goddard2024mergekit',
  title: "Arcee's MergeKit: A Toolkit for Merging Large Language Models",
  authors: ['Goddard, Charles', 'others'],
  year: 2024,
  source: { arxiv: '2403.13257' },
};

export const quaternionCurves: Citation = {
  key: 'shoemake1985animating',
  title: 'Animating rotation with quaternion curves',
  authors: ['Shoemake, Ken'],
  year: 1985,
  source: { url: 'https://doi.org/10.1145/325165.325242' },
};

export const riemannianCenter: Citation = {
  key: 'karcher1977riemannian',
  title: 'Riemannian center of mass and mollifier smoothing',
  authors: ['Karcher, Hermann'],
  year: 1977,
  source: { url: 'https://doi.org/10.1002/cpa.3160300502' },
};
