// The screens of the group Network as one chunk: together they are smaller than apart, and who opens one opens the others.
export {Addresses} from "./addresses/addresses";
export {Links} from "./links/links";
export {SwitchScreen} from "./switches/switch";
export {Switches} from "./switches/switches";
export {TopologyScreen} from "./topology/topology";
