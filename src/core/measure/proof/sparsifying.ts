/** Methods that keep the largest changes. Programs differ in which changes of equal magnitude they keep. */
export const sparsifying =
  /^(ties|breadcrumbs|breadcrumbs_ties|arcee_fusion|sce|dare_ties|dare_linear|della|della_linear)$/;

/** Such a method has at most this share of a tensor's elements at the cut. */
export const mostAtCut = 0.03;
