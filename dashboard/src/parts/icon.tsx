/** Shapes, so that no meaning depends on colour alone. */
const SHAPES = {
  play: 'M4 2.5v11l9-5.5z',
  pause: 'M4 3h3v10H4zM9 3h3v10H9z',
  stop: 'M3.5 3.5h9v9h-9z',
  check: 'M6.3 12.7 1.9 8.3l1.5-1.5 2.9 2.9 6.3-6.3 1.5 1.5z',
  cross: 'm4.5 3 3.5 3.5L11.5 3 13 4.5 9.5 8l3.5 3.5-1.5 1.5L8 9.5 4.5 13 3 11.5 6.5 8 3 4.5z',
  warn: 'M8 1.5 15.5 14.5H.5zM7.2 6v4.2h1.6V6zm0 5.3v1.6h1.6v-1.6z',
  dot: 'M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8z',
  ring: 'M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3zm0 2.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6z',
  clock: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm.8 3v3.2l2.4 1.4-.8 1.4L7.2 8.6V4.5z',
  skip: 'M3 3v10l6-5zm7 0h2.5v10H10z',
  sun: 'M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM7.3.5h1.4v2.5H7.3zm0 12.5h1.4v2.5H7.3zM.5 7.3h2.5v1.4H.5zm12.5 0h2.5v1.4H13z',
  moon: 'M6.5 1.5a6.5 6.5 0 1 0 8 8.3 5.3 5.3 0 0 1-8-8.3z',
  auto: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 2v9a4.5 4.5 0 0 1 0-9z',
  arrow: 'M9 3.5 13.5 8 9 12.5 7.7 11.2 10 9H2.5V7H10L7.7 4.8z',
  out: 'M2 2h7v2.5H7.5V3.5h-4v9h4v-1H9V14H2zM11 4.5 14.5 8 11 11.5 9.9 10.4 11.5 8.8H6V7.2h5.5L9.9 5.6z',
} as const
export type Shape = keyof typeof SHAPES

export function Icon({ shape, size = 14 }: { readonly shape: Shape; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path fill-rule="evenodd" d={SHAPES[shape]} />
    </svg>
  )
}
