/** Three fish of a school: the logo of Shoal. */
export function Mark({ size = 28 }: { readonly size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M3 9.5c2.6-3.6 7.2-3.6 9.8 0l2.7-2.2v4.4l-2.7-2.2c-2.6 3.6-7.2 3.6-9.8 0z" />
      <path d="M14 16c2.6-3.6 7.2-3.6 9.8 0l2.7-2.2v4.4l-2.7-2.2c-2.6 3.6-7.2 3.6-9.8 0z" opacity=".75" />
      <path d="M5.5 23.5c2.6-3.6 7.2-3.6 9.8 0l2.7-2.2v4.4l-2.7-2.2c-2.6 3.6-7.2 3.6-9.8 0z" opacity=".5" />
    </svg>
  )
}
