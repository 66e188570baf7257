/** Untrusted text: rendered as text only, with its own direction, and clipped. */
const LONGEST = 2_000
const LINKED = /^https?:\/\//i

export function Foreign({ text, clip = true }: { readonly text: string; readonly clip?: boolean }) {
  const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
  return (
    <bdi class={clip ? 'foreign clip' : 'foreign'} title={clip ? short : undefined}>
      {short}
    </bdi>
  )
}

/** A link if it is http(s), text otherwise. The target learns nothing about this page. */
export function Outside({ url, text = url }: { readonly url: string; readonly text?: string }) {
  if (!LINKED.test(url)) return <Foreign text={text} />
  return (
    <a class="outside" href={url} target="_blank" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer">
      <Foreign text={text} />
    </a>
  )
}
