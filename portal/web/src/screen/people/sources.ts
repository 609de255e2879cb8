// Accounts, and what one has open.
import {readAll} from "../../api/client";
import {sourceOf} from "../../api/source";
import type {Account, Session, Token} from "../../api/types";

const ofAccount = (event: {kind: string}) => event.kind.startsWith("account.");

export const accounts = () => sourceOf<Account[]>("accounts", () => ({load: () => readAll("/api/v1/accounts", {}), touches: ofAccount, every: () => 30000}));
export const sessions = (account: string) => sourceOf<Session[]>(`sessions ${account}`, () => ({load: () => readAll("/api/v1/sessions", {account}), touches: ofAccount, every: () => 15000}));
export const tokens = (account: string) => sourceOf<Token[]>(`tokens ${account}`, () => ({load: () => readAll("/api/v1/tokens", {account}), touches: ofAccount, every: () => 30000}));
