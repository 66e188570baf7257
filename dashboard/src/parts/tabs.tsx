import { useEffect, useRef } from 'preact/hooks'

export interface Tab {
  readonly href: string
  readonly name: string
  readonly here: boolean
  /** Shown after the name, such as a number. */
  readonly note?: string
}

/** Tabs are links: each has an address, and the back button and the keyboard work as usual. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const bar = useRef<HTMLElement>(null)
  const here = tabs.find((tab) => tab.here)?.href
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a small screen the bar scrolls to the current tab
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [here])
  return (
    <nav ref={bar} class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.href} class="nav-link" href={tab.href} aria-current={tab.here ? 'page' : undefined}>
          {tab.name}
          {tab.note === undefined ? null : <span class="note">{tab.note}</span>}
        </a>
      ))}
    </nav>
  )
}

export interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly options: readonly { readonly value: Value; readonly name: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** A choice of a few options, as a row of buttons. */
export function Choice<Value extends string>({ label, options, value, onChange }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.name}
        </button>
      ))}
    </fieldset>
  )
}
