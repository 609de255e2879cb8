// Of the account that is logged in: its second factor, its sessions, its tokens.
import {read, readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import {me} from "../../app/session";

const name = () => me.value?.account ?? "";
const mine = (event: {subject_kind: string}) => event.subject_kind === "account" || event.subject_kind === "session" || event.subject_kind === "token";

export const account = () => sourceOf(`account ${name()}`, () => ({load: () => read("/api/v1/accounts/{account}", {account: name()}), touches: mine}));
export const sessions = () => sourceOf(`sessions of ${name()}`, () => ({load: () => readAll("/api/v1/sessions", {account: name()}), touches: mine}));
export const tokens = () => sourceOf(`tokens of ${name()}`, () => ({load: () => readAll("/api/v1/tokens", {account: name()}), touches: mine}));
