// Which addresses there are, who has them, and relays' texts that no rule reads.
import {readAll} from "../../api/client";
import {sourceOf} from "../../api/source";

const ofAddresses = (event: {kind: string}) => /^(lease|subnet|reservation|circuit|rule)\./.test(event.kind);
const list = <T>(name: string, load: () => Promise<T>, every = 15000) => sourceOf<T>(name, () => ({load, touches: ofAddresses, every: () => every}));

export const subnets = () => list("subnets", () => readAll("/api/v1/subnets", {}), 60000);
export const reservations = () => list("reservations", () => readAll("/api/v1/reservations", {}));
export const leases = () => list("leases", () => readAll("/api/v1/leases", {}));
export const places = () => list("places", () => readAll("/api/v1/locations", {}), 30000);
export const circuits = () => list("circuits", () => readAll("/api/v1/circuits", {}));
export const rules = () => list("rules", () => readAll("/api/v1/circuit-rules", {}), 30000);
