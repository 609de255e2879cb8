// The screens of nodes, PDCIs and what is installed on them as one chunk (see network.ts).
export {Deployments} from "./deployments/deployments";
export {Images} from "./images/images";
export {NodeScreen} from "./node/node";
export {Nodes} from "./nodes/nodes";
export {PdciScreen} from "./pdci/pdci";
export {Volumes} from "./volumes/volumes";
export {Wizard} from "./wizard/wizard";
