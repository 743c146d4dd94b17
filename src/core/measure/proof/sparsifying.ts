/** Methods that keep the largest changes. Programs differ in which changes equal to the threshold stay. */
export const sparsifying =
  /^(ties|breadcrumbs|breadcrumbs_ties|arcee_fusion|sce|dare_ties|dare_linear|della|della_linear)$/;

/** Maximum share of a tensor's elements at the threshold of such a method. */
export const mostAtCut = 0.03;
