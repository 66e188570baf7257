import { useEffect, useId, useState } from 'preact/hooks'

export interface SearchBoxProps {
  readonly label: string
  readonly value: string
  readonly placeholder?: string
  /** After a short pause in typing, or immediately with Enter. */
  readonly onSearch: (text: string) => void
}

const PAUSE_MS = 300

export function SearchBox({ label, value, placeholder, onSearch }: SearchBoxProps) {
  const id = useId()
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onSearch(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value, onSearch])
  return (
    <search class="search">
      <label class="unseen" for={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        autocomplete="off"
        spellcheck={false}
        value={text}
        placeholder={placeholder ?? label}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onSearch(text)
        }}
      />
    </search>
  )
}
