// What was found in the packets: applications as nDPI names them, and conversations with what TCP suffered. Names come from the wire: text only.
import {bytes, count} from "../../part/time";

interface Application {
  application: string;
  guessed: boolean;
  conversations: number;
  packets: number;
  bytes: number;
}

interface Side {
  segments: number;
  retransmissions: number;
  out_of_order: number;
  zero_windows: number;
  resets: number;
  rtt_mean_us?: number;
}

interface Conversation {
  a: string;
  b: string;
  protocol: string;
  application: string;
  guessed: boolean;
  packets: number;
  bytes_ab: number;
  bytes_ba: number;
  tcp?: {handshake_us?: number; ab?: Side; ba?: Side};
}

const ms = (us: number | undefined) => (us === undefined ? "–" : `${(us / 1000).toFixed(us < 10000 ? 2 : 0)} ms`);

/** Both directions together: what a person looks for first. */
function suffered(one: Conversation): string {
  const sides = [one.tcp?.ab, one.tcp?.ba].filter((side) => side !== undefined);
  if (sides.length === 0) return "–";
  const sum = (name: keyof Side) => sides.reduce((all, side) => all + (side[name] ?? 0), 0);
  const said = [[sum("retransmissions"), "again"], [sum("out_of_order"), "out of order"], [sum("zero_windows"), "zero windows"], [sum("resets"), "resets"]].filter(([number]) => number);
  return said.length ? said.map(([number, word]) => `${count(Number(number))} ${word}`).join(", ") : "none";
}

const roundTrip = (one: Conversation) => ms(one.tcp?.ab?.rtt_mean_us ?? one.tcp?.ba?.rtt_mean_us ?? one.tcp?.handshake_us);

export function Found({result, ended}: {result: Record<string, unknown>; ended: boolean}) {
  const applications = (result.applications as Application[] | undefined) ?? [];
  const conversations = (result.conversations as Conversation[] | undefined) ?? [];
  if (!ended) return null;
  const most = Math.max(1, ...applications.map((one) => one.bytes));
  return (
    <div class="columns found">
      <section class="panel flush" aria-label="Applications">
        <header><h2>Applications</h2><span class="quiet small">by deep packet inspection</span></header>
        {applications.length === 0 ? <p class="quiet inside">No application was recognised.</p> : (
          <div class="scroll" tabIndex={0}>
            <table class="plain">
              <thead><tr><th>Application</th><th class="number">Bytes</th><th class="wide"><span class="hidden">Share</span></th><th class="number">Packets</th><th class="number">Conversations</th></tr></thead>
              <tbody>
                {applications.map((one) => (
                  <tr key={one.application}>
                    <td>{one.application}{one.guessed && <span class="quiet small"> guessed by its port</span>}</td><td class="number">{bytes(one.bytes)}</td>
                    <td class="wide"><span class="share" aria-hidden="true"><i style={{width: `${(100 * one.bytes) / most}%`}} /></span></td><td class="number">{count(one.packets)}</td><td class="number">{count(one.conversations)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
      <section class="panel flush" aria-label="Conversations">
        <header><h2>Conversations</h2><span class="quiet small">the largest</span></header>
        {conversations.length === 0 ? <p class="quiet inside">No conversation was seen.</p> : (
          <div class="scroll" tabIndex={0}>
            <table class="plain">
              <thead><tr><th>Between</th><th>Application</th><th class="number">Packets</th><th class="number">Bytes there and back</th><th class="number">Round trip</th><th>Lost or late</th></tr></thead>
              <tbody>
                {conversations.map((one) => (
                  <tr key={`${one.a} ${one.b} ${one.protocol}`}>
                    <td class="mono">{one.a} ~ {one.b} {one.protocol}</td><td>{one.application}</td><td class="number">{count(one.packets)}</td>
                    <td class="number">{bytes(one.bytes_ab)} · {bytes(one.bytes_ba)}</td><td class="number">{roundTrip(one)}</td><td>{suffered(one)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </div>
  );
}
