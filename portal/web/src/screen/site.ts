// The screens of the site and its people as one chunk (see network.ts).
export {Audit} from "./audit/audit";
export {Certificates} from "./certificates/certificates";
export {Jobs} from "./jobs/jobs";
export {Overview} from "./overview/overview";
export {People} from "./people/people";
export {Rotations} from "./rotations/rotations";
export {Settings} from "./settings/settings";
export {Tenants} from "./tenants/tenants";
export {UsageScreen} from "./usage/usage";
export {Webhooks} from "./webhooks/webhooks";
export {AccountScreen} from "./account/account";
