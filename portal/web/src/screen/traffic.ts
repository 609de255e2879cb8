// The screens of traffic as one chunk (see network.ts).
export {CaptureScreen} from "./captures/capture";
export {Captures} from "./captures/captures";
export {CaseScreen} from "./cases/case";
export {Cases} from "./cases/cases";
export {Collector} from "./collector/collector";
export {Drill} from "./drill/drill";
