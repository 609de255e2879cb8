// An account that is edited: what a second browser is shown of it.
import type {Account} from "../api/types";
import {editsOf, type Edits, type Members} from "../part/changed";

const NAMES = {role: "Role", disabled: "Disabled", os_user: "User of the controller machine"};

export const editsOfAccount = (one: Account, mine: () => Members): Edits =>
  editsOf(`Account ${one.name}`, NAMES, one, ({role, disabled, os_user}) => ({role, disabled, os_user}), mine, {kind: "account.changed", subject_kind: "account", subject: one.name});
