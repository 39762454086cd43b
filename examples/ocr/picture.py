"""The page with a numbered frame around every line that was read."""

import pathlib

from PIL import Image, ImageDraw, ImageFont

INK = (200, 30, 30)
TEXT_SIZE = 18


def annotate(page: Image.Image, boxes: list, lines: list[str], path: pathlib.Path) -> None:
    """Left the page with its frames, right the text; a small page is enlarged so that the numbers can be read."""
    scale = max(1, 1200 // max(page.size))
    left = page.convert("RGB").resize((page.width * scale, page.height * scale), Image.Resampling.LANCZOS)
    font = ImageFont.load_default(TEXT_SIZE)
    right = listing(lines, font, left.height)
    # A number stands above and left of its frame, which may begin at the page's edge.
    margin, top = int(font.getlength(str(len(boxes)))) + TEXT_SIZE // 2, 2 * TEXT_SIZE
    size = (margin + left.width + right.width, max(top + left.height, right.height))
    picture = Image.new("RGB", size, "white")
    picture.paste(left, (margin, top))
    picture.paste(right, (margin + left.width, 0))
    draw = ImageDraw.Draw(picture)
    for number, box in enumerate(boxes, 1):
        corners = [(margin + x * scale, top + y * scale) for x, y in box]
        draw.polygon(corners, outline=INK, width=2)
        draw.text(corners[0], str(number), fill=INK, font=font, anchor="rs")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path)


def listing(lines: list[str], font: ImageFont.FreeTypeFont, height: int) -> Image.Image:
    numbered = [f"{number}  {line}" for number, line in enumerate(lines, 1)]
    width = int(max((font.getlength(line) for line in numbered), default=0)) + 3 * TEXT_SIZE
    image = Image.new("RGB", (width, max(height, (len(lines) + 2) * 2 * TEXT_SIZE)), "white")
    draw = ImageDraw.Draw(image)
    for row, line in enumerate(numbered):
        draw.text((TEXT_SIZE, TEXT_SIZE + row * 2 * TEXT_SIZE), line, fill="black", font=font)
    return image
