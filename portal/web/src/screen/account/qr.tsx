// A QR code, drawn here: the secret in it goes to nobody else.
import {encode} from "uqr";

export function Qr({text, label}: {text: string; label: string}) {
  const {data, size} = encode(text, {border: 4});
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <rect width={size} height={size} />
      <path d={path} />
    </svg>
  );
}
