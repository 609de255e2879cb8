// The screens of the groups Network and Traffic as one chunk: together they are smaller than apart, and who opens one opens the others.
export {Addresses} from "./addresses/addresses";
export {CaptureScreen} from "./captures/capture";
export {Captures} from "./captures/captures";
export {CaseScreen} from "./cases/case";
export {Cases} from "./cases/cases";
export {Collector} from "./collector/collector";
export {Drill} from "./drill/drill";
export {Links} from "./links/links";
export {SwitchScreen} from "./switches/switch";
export {Switches} from "./switches/switches";
export {TopologyScreen} from "./topology/topology";
