// A button for each provider of OpenID Connect that portald knows; nothing where it knows none, or cannot say.
import {useEffect, useState} from "preact/hooks";
import {read, Refusal} from "../../api/client";
import {goToProvider} from "../../app/provider";

interface Props {
  says: (provider: string) => string;
  /** undefined: not now, a field is not filled in. "": there is no link. */
  link: () => string | undefined;
  refuse: (refusal: Refusal | undefined) => void;
  /** What one should know before. */
  about?: string;
}

export function Providers({says, link, refuse, about}: Props) {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    read("/api/v1/login/providers").then(({items}) => setNames(items.map(({name}) => name)), () => undefined);
  }, []);
  const begin = async (name: string) => {
    const taken = link();
    if (taken === undefined) return;
    refuse(undefined);
    try {
      await goToProvider(name, taken);
    } catch (error) {
      refuse(error instanceof Refusal ? error : new Refusal(0, {title: "this browser cannot begin the login", detail: String(error), hint: "open this page by https, and let it keep data"}));
    }
  };
  if (!names.length) return null;
  return (
    <div class="providers">
      {names.map((name) => <button key={name} type="button" class="button" onClick={() => void begin(name)}>{says(name)}</button>)}
      {about && <p class="small quiet">{about}</p>}
    </div>
  );
}
